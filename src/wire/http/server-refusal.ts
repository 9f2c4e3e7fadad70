import { type ErrorCode, isObject, type JsonObject, PolypodError } from '../../base/index.ts';

/** The HTTP details of a rejected request, in addition to the error message. */
export interface HttpRefusal {
  readonly status: number;
  /** A machine-readable code such as `missing_scope`. */
  readonly code: string;
  readonly details?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Creates an error with its own HTTP status: our error codes do not cover size limits, rates and keys. */
export function httpRefusal(
  status: number,
  code: string,
  message: string,
  more: Pick<HttpRefusal, 'details' | 'headers'> = {},
): PolypodError {
  const http: HttpRefusal = { status, code, ...more };
  return new PolypodError(CODES[status] ?? 'bad-request', message, { cause: { http } });
}

/** Returns the HTTP details of an error created by `httpRefusal`. */
export function httpRefusalFrom({ cause }: PolypodError): HttpRefusal | undefined {
  const http = isObject(cause) ? cause.http : undefined;
  if (!isObject(http)) return undefined;
  const { status, code, details, headers } = http;
  if (typeof status !== 'number' || typeof code !== 'string') return undefined;
  return {
    status,
    code,
    ...(isObject(details) ? { details } : {}),
    ...(isObject(headers)
      ? { headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])) }
      : {}),
  };
}

const CODES: Readonly<Record<number, ErrorCode>> = {
  401: 'denied',
  403: 'denied',
  404: 'not-found',
  405: 'unknown-method',
  409: 'conflict',
  429: 'overloaded',
  503: 'overloaded',
};
