import { isObject, type Redact, redactor } from '../../base/index.ts';
import type { Cassette, Chunk, RecordedError, RecordedRequest, RecordedResponse } from './cassette.ts';

/** The cassette as it may be shared: without what is secret by its name, its value or its shape. */
export function withoutSecrets(cassette: Cassette, secrets: Iterable<string>): Cassette {
  const spellings = [...secrets, ...secretsIn(cassette.request)].flatMap(spellingsOf);
  const clean = redactor(spellings);
  const cleanBytes = redactor(spellings.map((value) => Buffer.from(value).toString('latin1')));
  return {
    recordedAt: cassette.recordedAt,
    request: cleanRequest(cassette.request, clean),
    response: cleanResponse(cassette.response, clean, cleanBytes),
  };
}

/** What the request itself shows to be secret: the values behind telling names. */
export function secretsIn({ url, headers }: Pick<RecordedRequest, 'url' | 'headers'>): string[] {
  const inHeaders = Object.entries(headers).filter(([name]) => isSecretHeader(name));
  const address = URL.canParse(url) ? new URL(url) : undefined;
  const inQuery = [...(address?.searchParams ?? [])].filter(([name]) => isSecretParameter(name));
  return [
    ...inHeaders.flatMap(([, value]) => [value, value.replace(/^[A-Za-z]+\s+/, '')]),
    ...inQuery.map(([, value]) => value),
    ...(address === undefined ? [] : [address.password]),
  ];
}

/** The address without the parts that carry credentials. */
export function bareUrl(url: string): string {
  if (!URL.canParse(url)) return url;
  const address = new URL(url);
  address.username = '';
  address.password = '';
  // Only then is the query written anew: it is otherwise to stay as it was spelled.
  for (const name of [...address.searchParams.keys()].filter(isSecretParameter))
    address.searchParams.delete(name);
  return address.href;
}

function cleanRequest({ method, url, headers, body }: RecordedRequest, clean: Redact): RecordedRequest {
  return {
    method,
    url: clean(bareUrl(url)),
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
  const kept = Object.entries(headers).filter(([name]) => !isSecretHeader(name) && !isOfConnection(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, clean(value)]));
}

function cleanJson(value: unknown, clean: Redact): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map((part) => cleanJson(part, clean));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [clean(key), cleanJson(part, clean)] as const),
  );
}

/** A provider may quote the key, and a piece may end anywhere, also inside it; so the pieces are judged together. */
function cleanChunks(chunks: readonly Chunk[], clean: Redact): readonly Chunk[] {
  const pieces = chunks.map(({ atMs, bytes }) => ({ atMs, text: Buffer.from(bytes).toString('latin1') }));
  const whole = joined(pieces);
  if (clean(whole) === whole) return chunks;
  return cleanPieces(pieces, clean).map(({ atMs, text }) => ({
    atMs,
    bytes: new Uint8Array(Buffer.from(text, 'latin1')),
  }));
}

/** Bytes as characters of the same number, so that a cut inside a character of the text is no matter. */
interface Piece {
  readonly atMs: number;
  readonly text: string;
}

/**
 * Pieces whose cuts go through a secret become one piece, which came when the last of them did; all other cuts stay.
 * Halving finds them without looking at every pair of cuts.
 */
function cleanPieces(pieces: readonly Piece[], clean: Redact): readonly Piece[] {
  const text = clean(joined(pieces));
  const apart = pieces.map((piece) => ({ atMs: piece.atMs, text: clean(piece.text) }));
  if (joined(apart) === text) return apart;
  for (const cut of fromTheMiddle(pieces.length)) {
    const [before, after] = [pieces.slice(0, cut), pieces.slice(cut)];
    if (clean(joined(before)) + clean(joined(after)) === text)
      return [...cleanPieces(before, clean), ...cleanPieces(after, clean)];
  }
  return [{ atMs: pieces.at(-1)?.atMs ?? 0, text }];
}

function* fromTheMiddle(length: number): Generator<number> {
  const middle = Math.floor(length / 2);
  for (let away = 0; away < length; away += 1) {
    if (middle + away < length) yield middle + away;
    if (away > 0 && middle - away > 0) yield middle - away;
  }
}

function joined(pieces: readonly Piece[]): string {
  return pieces.map(({ text }) => text).join('');
}

/** The ways in which a value is written inside an address or a JSON text. */
function spellingsOf(value: string): string[] {
  return [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)];
}

/** `x-ratelimit-remaining-tokens` is none of them: only the singular is a credential. */
const SECRET_HEADER =
  /(?:^|[-_])(?:authorization|auth|key|apikey|token|secret|password|cookie|credential|signature)(?:$|[-_])/i;
/** No keys, but they name whose account it was. */
const OWNERS = new Set(['openai-organization', 'openai-project', 'anthropic-organization-id']);

function isSecretHeader(name: string): boolean {
  return SECRET_HEADER.test(name) || OWNERS.has(name.toLowerCase());
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
 * Headers about how the bytes travelled. They would be untrue of a cassette: its body is unpacked, and redaction may
 * have changed its length.
 */
const OF_CONNECTION = new Set([
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

/** Whether a header belongs to one connection and not to the message. */
export function isOfConnection(name: string): boolean {
  return OF_CONNECTION.has(name.toLowerCase());
}
