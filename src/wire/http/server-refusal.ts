import { type ErrorCode, isObject, type JsonObject, PolypodError } from '../../base/index.ts';

/** What an HTTP client is told when its request is refused, beside the sentence. */
export interface HttpRefusal {
  readonly status: number;
  /** For programs: `missing_scope`. */
  readonly word: string;
  readonly details?: JsonObject;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A refusal with a status of its own: our codes know no size limits, no rates and no keys. */
export function httpRefusal(
  status: number,
  word: string,
  message: string,
  more: Pick<HttpRefusal, 'details' | 'headers'> = {},
): PolypodError {
  const http: HttpRefusal = { status, word, ...more };
  return new PolypodError(CODES[status] ?? 'bad-request', message, { cause: { http } });
}

/** The refusal in an error, if it was made as one. */
export function httpRefusalIn({ cause }: PolypodError): HttpRefusal | undefined {
  const http = isObject(cause) ? cause.http : undefined;
  if (!isObject(http)) return undefined;
  const { status, word, details, headers } = http;
  if (typeof status !== 'number' || typeof word !== 'string') return undefined;
  return {
    status,
    word,
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
