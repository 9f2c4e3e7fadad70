import { isObject, type Redact, redactor } from '../../base/index.ts';
import type { Cassette, Chunk, RecordedError, RecordedRequest, RecordedResponse } from './cassette.ts';

/**
 * Returns the cassette without secrets, recognized by field name, by known value or by shape, so that it can be
 * shared.
 */
export function redactCassette(cassette: Cassette, secrets: Iterable<string>): Cassette {
  const encodings = [...secrets, ...findSecrets(cassette.request)].flatMap(encodingsOf);
  const clean = redactor(encodings);
  const cleanBytes = redactor(encodings.map((value) => Buffer.from(value).toString('latin1')));
  return {
    recordedAt: cassette.recordedAt,
    request: cleanRequest(cassette.request, clean),
    response: cleanResponse(cassette.response, clean, cleanBytes),
  };
}

/** Returns the values of secret headers and query parameters of the request. */
export function findSecrets({ url, headers }: Pick<RecordedRequest, 'url' | 'headers'>): string[] {
  const inHeaders = Object.entries(headers).filter(([name]) => isSecretHeader(name));
  const address = URL.canParse(url) ? new URL(url) : undefined;
  const inQuery = [...(address?.searchParams ?? [])].filter(([name]) => isSecretParameter(name));
  return [
    ...inHeaders.flatMap(([, value]) => [value, value.replace(/^[A-Za-z]+\s+/, '')]),
    ...inQuery.map(([, value]) => value),
    ...(address === undefined ? [] : [address.password]),
  ];
}

/** Returns the URL without the parts that carry credentials. */
export function urlWithoutCredentials(url: string): string {
  if (!URL.canParse(url)) return url;
  const address = new URL(url);
  address.username = '';
  address.password = '';
  // Deleting a parameter re-serializes the query, so it is done only if a secret parameter is present.
  for (const name of [...address.searchParams.keys()].filter(isSecretParameter))
    address.searchParams.delete(name);
  return address.href;
}

function cleanRequest({ method, url, headers, body }: RecordedRequest, clean: Redact): RecordedRequest {
  return {
    method,
    url: clean(urlWithoutCredentials(url)),
    headers: cleanHeaders(headers, clean),
    ...(body === undefined ? {} : { body: cleanJson(body, clean) }),
  };
}

function cleanResponse(response: RecordedResponse, clean: Redact, cleanBytes: Redact): RecordedResponse {
  if (!('status' in response)) return { error: cleanError(response.error, clean) };
  const { status, headers, chunks, error } = response;
  return {
    status,
    headers: cleanHeaders(headers, clean),
    chunks: cleanChunks(chunks, cleanBytes),
    ...(error === undefined ? {} : { error: cleanError(error, clean) }),
  };
}

function cleanError(error: RecordedError, clean: Redact): RecordedError {
  return { ...error, message: clean(error.message) };
}

function cleanHeaders(
  headers: Readonly<Record<string, string>>,
  clean: Redact,
): Readonly<Record<string, string>> {
  const allowed = Object.entries(headers).filter(
    ([name]) => !isSecretHeader(name) && !isHopByHopHeader(name),
  );
  return Object.fromEntries(allowed.map(([name, value]) => [name, clean(value)]));
}

function cleanJson(value: unknown, clean: Redact): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map((part) => cleanJson(part, clean));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [clean(key), cleanJson(part, clean)] as const),
  );
}

/** Redacts all chunks together: a provider may quote the key, and a chunk boundary can fall inside it. */
function cleanChunks(chunks: readonly Chunk[], clean: Redact): readonly Chunk[] {
  const pieces = chunks.map(({ atMs, bytes }) => ({ atMs, text: Buffer.from(bytes).toString('latin1') }));
  const whole = joinPieces(pieces);
  if (clean(whole) === whole) return chunks;
  return cleanPieces(pieces, clean).map(({ atMs, text }) => ({
    atMs,
    bytes: new Uint8Array(Buffer.from(text, 'latin1')),
  }));
}

/** Bytes as Latin-1 characters, so a chunk boundary inside a UTF-8 character does not matter. */
interface Piece {
  readonly atMs: number;
  readonly text: string;
}

/**
 * Merges the chunks whose boundaries cut through a secret into one, with the arrival time of the last of them.
 * All other boundaries stay. Bisection avoids testing every pair of boundaries.
 */
function cleanPieces(pieces: readonly Piece[], clean: Redact): readonly Piece[] {
  const text = clean(joinPieces(pieces));
  const apart = pieces.map((piece) => ({ atMs: piece.atMs, text: clean(piece.text) }));
  if (joinPieces(apart) === text) return apart;
  for (const cut of indexesFromMiddle(pieces.length)) {
    const [before, after] = [pieces.slice(0, cut), pieces.slice(cut)];
    if (clean(joinPieces(before)) + clean(joinPieces(after)) === text)
      return [...cleanPieces(before, clean), ...cleanPieces(after, clean)];
  }
  return [{ atMs: pieces.at(-1)?.atMs ?? 0, text }];
}

function* indexesFromMiddle(length: number): Generator<number> {
  const middle = Math.floor(length / 2);
  for (let distance = 0; distance < length; distance += 1) {
    if (middle + distance < length) yield middle + distance;
    if (distance > 0 && middle - distance > 0) yield middle - distance;
  }
}

function joinPieces(pieces: readonly Piece[]): string {
  return pieces.map(({ text }) => text).join('');
}

/** Returns the encodings in which a value can appear in a URL or in JSON text. */
function encodingsOf(value: string): string[] {
  return [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)];
}

/** `x-ratelimit-remaining-tokens` does not match: only the singular names a credential. */
const SECRET_HEADER =
  /(?:^|[-_])(?:authorization|auth|key|apikey|token|secret|password|cookie|credential|signature)(?:$|[-_])/i;
/** These are not keys, but they identify the account. */
const ACCOUNT_HEADERS = new Set(['openai-organization', 'openai-project', 'anthropic-organization-id']);

function isSecretHeader(name: string): boolean {
  return SECRET_HEADER.test(name) || ACCOUNT_HEADERS.has(name.toLowerCase());
}

const SECRET_PARAMETERS = new Set([
  'key',
  'api_key',
  'api-key',
  'apikey',
  'access_token',
  'token',
  'auth',
  'sig',
  'signature',
]);

function isSecretParameter(name: string): boolean {
  return SECRET_PARAMETERS.has(name.toLowerCase());
}

/**
 * Headers about the transport of the bytes. They would be wrong in a cassette: its body is decompressed, and
 * redaction may change its length.
 */
const HOP_BY_HOP = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** Returns whether a header belongs to one connection rather than to the message. */
export function isHopByHopHeader(name: string): boolean {
  return HOP_BY_HOP.has(name.toLowerCase());
}
