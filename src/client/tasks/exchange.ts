import {
  asPolypodError,
  derivedAbort,
  type JsonObject,
  messageOf,
  numberOf,
  objectIn,
  objectOf,
  PolypodError,
  stringOf,
  systemCodeOf,
} from '../../base/index.ts';
import { type HttpResponse, httpRefusal, httpRefusalFrom, type Transport } from '../../wire/index.ts';

/** Where the server is, and as whom it is asked. */
export interface TasksServer {
  /** Without a slash at its end. */
  readonly url: string;
  readonly key: string | undefined;
  readonly transport: Transport;
}

export interface Asked {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: JsonObject;
}

/** How long a server may take to begin an answer, and to end one that is not a stream. */
const ANSWER_MS = 30_000;
/** An answer that is not a stream is not larger than this. */
const MAX_ANSWER = 64 * 1024 * 1024;

/** Sends a request and reads the JSON object that answers it; what is refused is thrown. */
export async function askFor(place: TasksServer, asked: Asked, signal: AbortSignal): Promise<JsonObject> {
  return within(ANSWER_MS, place, signal, async (limited) => {
    const response = await send(place, asked, limited);
    const text = await textOf(response);
    refuse(response, text);
    const body = objectIn(text);
    if (body !== undefined) return body;
    throw new PolypodError(
      'provider-failed',
      `what answers at ${place.url} is no agent: it sent no JSON; check the address`,
    );
  });
}

/** Sends a request whose answer streams; what is refused is thrown. */
export async function openFor(
  place: TasksServer,
  asked: Asked,
  signal: AbortSignal,
): Promise<Omit<HttpResponse, 'headers'> & { readonly type: string }> {
  const response = await send(place, asked, signal);
  if (response.status >= 400) refuse(response, await textOf(response));
  return { ...response, type: response.headers['content-type'] ?? '' };
}

/** Whether the same may come off if it is tried again: the connection failed, or the server cannot just now. */
export function isPassing(error: PolypodError): boolean {
  const status = httpRefusalFrom(error)?.status;
  if (status !== undefined) return PASSING.has(status);
  const code = failureIn(error);
  return code !== undefined && !isTlsFailure(code);
}

/** Why the server could not be reached: a system's code, or `cut` for an answer that broke off. */
export function failureIn({ code, cause }: PolypodError): string | undefined {
  // A file that cannot be read has a system's code as well.
  return code === 'unreachable' ? systemCodeOf(cause) : undefined;
}

/** Whether its certificate is not one that we trust. */
export function isTlsFailure(code: string): boolean {
  return /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code);
}

/** A stream that broke off: what is missing comes when it is asked for again. */
export function cutOff(url: string, thrown: unknown): PolypodError {
  return asPolypodError(thrown).code === 'internal'
    ? new PolypodError('unreachable', `the connection to ${url} broke off: ${messageOf(thrown)}`, {
        cause: { code: CUT },
      })
    : asPolypodError(thrown);
}

/** A stream that the server ended before its last event, and why. */
export function endedEarly(url: string, why: string): PolypodError {
  return new PolypodError('unreachable', `${url} ended the stream: ${why}`, { cause: { code: CUT } });
}

/** A stream of which not a single byte came: somebody in between holds it back. */
export function silence(): PolypodError {
  return new PolypodError('unreachable', 'nothing came through the stream', { cause: { code: SILENT } });
}

export function isSilence(thrown: unknown): boolean {
  return failureIn(asPolypodError(thrown)) === SILENT;
}

/** How long the server wants to be left alone, in seconds. */
export function retryAfter(error: PolypodError): number | undefined {
  return numberOf(httpRefusalFrom(error)?.details?.retryAfter);
}

async function send(place: TasksServer, asked: Asked, signal: AbortSignal): Promise<HttpResponse> {
  const { url, key, transport } = place;
  const { method, path, headers = {}, body } = asked;
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
    // It was reached, and is not the agent that the key is for.
    if (asPolypodError(thrown).code === 'denied') throw thrown;
    throw unreachable(url, thrown);
  }
}

/** An error body is the server's own words; without one the status has to do. */
function refuse({ status, headers }: HttpResponse, text: string): void {
  if (status >= 200 && status < 300) return;
  const { error } = objectIn(text) ?? {};
  const said = objectOf(error);
  const wait = Number(headers['retry-after']);
  const details = {
    ...objectOf(said.details),
    ...(Number.isFinite(wait) && wait >= 0 && { retryAfter: wait }),
  };
  const where = stringOf(headers.location);
  const message =
    stringOf(said.message) ||
    (where === '' ? `the server answered ${status}` : `the server answered ${status}: it is at ${where} now`);
  const refusal = httpRefusal(status, stringOf(said.code) || 'refused', message, { details });
  if (status < 500 || status === 503) throw refusal;
  throw new PolypodError('provider-failed', message, { cause: refusal.cause });
}

function unreachable(url: string, thrown: unknown): PolypodError {
  return new PolypodError('unreachable', `cannot reach ${url}: ${messageOf(thrown)}`, {
    cause: { code: systemCodeOf(thrown) ?? CUT },
  });
}

async function within<T>(
  ms: number,
  { url }: TasksServer,
  signal: AbortSignal,
  run: (limited: AbortSignal) => Promise<T>,
): Promise<T> {
  const { controller, release } = derivedAbort(signal);
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    controller.abort();
  }, ms);
  try {
    return await run(controller.signal);
  } catch (thrown) {
    if (!isLate) throw asPolypodError(thrown);
    const late = Object.assign(new Error(`no answer within ${ms / 1000} s`), { code: 'ETIMEDOUT' });
    throw unreachable(url, late);
  } finally {
    clearTimeout(timer);
    release();
  }
}

async function textOf({ body }: HttpResponse): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of body) {
      size += piece.length;
      if (size > MAX_ANSWER) throw new Error('the answer is too large');
      pieces.push(piece);
    }
  } catch (thrown) {
    throw new PolypodError('unreachable', `the answer broke off: ${messageOf(thrown)}; ask again`, {
      cause: { code: CUT },
    });
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** Nobody knows why, but the connection is gone. */
export const CUT = 'cut';
const SILENT = 'silent';
const PASSING: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504]);
