import {
  asPolypodError,
  derivedAbort,
  type JsonObject,
  messageOf,
  numberOf,
  parseObject,
  objectOf,
  PolypodError,
  stringOf,
  systemCodeOf,
} from '../../base/index.ts';
import { type HttpResponse, httpRefusal, httpRefusalFrom, type Transport } from '../../wire/index.ts';

/** The server's address and the key to use. */
export interface TasksServer {
  /** Without a trailing slash. */
  readonly url: string;
  readonly key: string | undefined;
  readonly transport: Transport;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonObject;
}

/** The timeout for a response that is not a stream. */
const RESPONSE_TIMEOUT_MS = 30_000;
/** The maximum size of a response that is not a stream. */
const MAX_RESPONSE = 64 * 1024 * 1024;

/** Sends a request and returns the JSON object of the response. Throws error responses. */
export async function requestJson(
  server: TasksServer,
  apiRequest: ApiRequest,
  signal: AbortSignal,
): Promise<JsonObject> {
  return withTimeout(RESPONSE_TIMEOUT_MS, server, signal, async (timeoutSignal) => {
    const response = await send(server, apiRequest, timeoutSignal);
    const text = await bodyText(response);
    throwIfError(response, text);
    const body = parseObject(text);
    if (body !== undefined) return body;
    throw new PolypodError(
      'provider-failed',
      `the server at ${server.url} is not an agent: it did not send JSON; check the address`,
    );
  });
}

/** Sends a request with a streamed response. Throws error responses. */
export async function openStream(
  server: TasksServer,
  apiRequest: ApiRequest,
  signal: AbortSignal,
): Promise<Omit<HttpResponse, 'headers'> & { readonly type: string }> {
  const response = await send(server, apiRequest, signal);
  if (response.status >= 400) throwIfError(response, await bodyText(response));
  return { ...response, type: response.headers['content-type'] ?? '' };
}

/** Whether the same may come off if it is tried again: the connection failed, or the server cannot just now. */
export function isTransientError(error: PolypodError): boolean {
  const status = httpRefusalFrom(error)?.status;
  if (status !== undefined) return TRANSIENT_STATUSES.has(status);
  const code = connectionErrorCode(error);
  return code !== undefined && !isTlsFailure(code);
}

/** Why the server could not be reached: a system error code, or `cut` if the response was cut off. */
export function connectionErrorCode({ code, cause }: PolypodError): string | undefined {
  // A file that cannot be read has a system's code as well.
  return code === 'unreachable' ? systemCodeOf(cause) : undefined;
}

/** Whether the server's certificate is not trusted. */
export function isTlsFailure(code: string): boolean {
  return /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code);
}

/** The error for a stream whose connection was lost; it can be resumed. */
export function connectionLostError(url: string, thrown: unknown): PolypodError {
  return asPolypodError(thrown).code === 'internal'
    ? new PolypodError('unreachable', `the connection to ${url} was lost: ${messageOf(thrown)}`, {
        cause: { code: CUT },
      })
    : asPolypodError(thrown);
}

/** The error for a stream that the server ended before its last event. */
export function streamEndedError(url: string, why: string): PolypodError {
  return new PolypodError('unreachable', `${url} ended the stream: ${why}`, { cause: { code: CUT } });
}

/** The error for a stream without a single byte: an intermediary buffers it. */
export function noDataError(): PolypodError {
  return new PolypodError('unreachable', 'the stream delivered no data', { cause: { code: NO_DATA } });
}

export function isNoDataError(thrown: unknown): boolean {
  return connectionErrorCode(asPolypodError(thrown)) === NO_DATA;
}

/** The server's Retry-After, in seconds. */
export function retryAfter(error: PolypodError): number | undefined {
  return numberOf(httpRefusalFrom(error)?.details?.retryAfter);
}

async function send(server: TasksServer, apiRequest: ApiRequest, signal: AbortSignal): Promise<HttpResponse> {
  const { url, key, transport } = server;
  const { method, path, headers = {}, body } = apiRequest;
  const request = {
    method,
    url: `${url}${path}`,
    headers: {
      accept: 'application/json',
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
  try {
    return await transport(request, { signal, onOpen: () => {} });
  } catch (thrown) {
    // The server was reached, but it is not the agent of this key.
    if (asPolypodError(thrown).code === 'denied') throw thrown;
    throw unreachable(url, thrown);
  }
}

/** Throws for an error status, with the server's message if there is one. */
function throwIfError({ status, headers }: HttpResponse, text: string): void {
  if (status >= 200 && status < 300) return;
  const { error } = parseObject(text) ?? {};
  const errorBody = objectOf(error);
  const wait = Number(headers['retry-after']);
  const details = {
    ...objectOf(errorBody.details),
    ...(Number.isFinite(wait) && wait >= 0 && { retryAfter: wait }),
  };
  const location = stringOf(headers.location);
  const message =
    stringOf(errorBody.message) ||
    (location === ''
      ? `the server answered ${status}`
      : `the server answered ${status}: it is at ${location} now`);
  const refusal = httpRefusal(status, stringOf(errorBody.code) || 'refused', message, { details });
  if (status < 500 || status === 503) throw refusal;
  throw new PolypodError('provider-failed', message, { cause: refusal.cause });
}

function unreachable(url: string, thrown: unknown): PolypodError {
  return new PolypodError('unreachable', `cannot reach ${url}: ${messageOf(thrown)}`, {
    cause: { code: systemCodeOf(thrown) ?? CUT },
  });
}

async function withTimeout<T>(
  ms: number,
  { url }: TasksServer,
  signal: AbortSignal,
  run: (timeoutSignal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { controller, release } = derivedAbort(signal);
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    controller.abort();
  }, ms);
  try {
    return await run(controller.signal);
  } catch (thrown) {
    if (!timedOut) throw asPolypodError(thrown);
    const timeoutError = Object.assign(new Error(`no answer within ${ms / 1000} s`), { code: 'ETIMEDOUT' });
    throw unreachable(url, timeoutError);
  } finally {
    clearTimeout(timer);
    release();
  }
}

async function bodyText({ body }: HttpResponse): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of body) {
      size += piece.length;
      if (size > MAX_RESPONSE) throw new Error('the answer is too large');
      pieces.push(piece);
    }
  } catch (thrown) {
    throw new PolypodError('unreachable', `the response was cut off: ${messageOf(thrown)}; try again`, {
      cause: { code: CUT },
    });
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** The connection was lost for an unknown reason. */
export const CUT = 'cut';
const NO_DATA = 'silent';
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);
