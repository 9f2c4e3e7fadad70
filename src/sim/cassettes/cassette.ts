import { isObject, tryParse } from '../../base/index.ts';

/** One exchange with a provider as it was: what was asked, and every piece of the answer with its time. */
export interface Cassette {
  /** ISO 8601. */
  readonly recordedAt: string;
  readonly request: RecordedRequest;
  readonly response: RecordedResponse;
}

export interface RecordedRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** An object or a list where the body was JSON of that kind, else the text; absent without a body. */
  readonly body?: unknown;
}

/** Without a status no answer came at all: only the error is there. */
export type RecordedResponse = RecordedAnswer | { readonly error: RecordedError };

export interface RecordedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: readonly Chunk[];
  /** Absent when the answer came to its end. */
  readonly error?: RecordedError;
}

/** A piece of the answer's body, with the time from the start of the request to its arrival. */
export interface Chunk {
  readonly atMs: number;
  readonly bytes: Uint8Array;
}

export interface RecordedError {
  /** The connection broke, or whoever read the answer left before its end. */
  readonly kind: 'broken' | 'stopped';
  readonly atMs: number;
  readonly message: string;
  /** The system's word for it, for example `ECONNREFUSED`. */
  readonly code?: string;
}

/** The only version there is of the file format; a newer one is refused. */
export const CASSETTE_VERSION = 1;

/** A cassette as the text of its file. */
export function encodeCassette({ recordedAt, request, response }: Cassette): string {
  const chunks = 'status' in response ? { chunks: response.chunks.map(writtenChunk) } : {};
  const written = { version: CASSETTE_VERSION, recordedAt, request, response: { ...response, ...chunks } };
  return `${JSON.stringify(written, null, 2).replace(CHUNK, '{ $1, $2 }')}\n`;
}

/** A request's body the way a cassette keeps it. */
export function recordedBody(text: string): unknown {
  const parsed = tryParse(text);
  return isObject(parsed) || Array.isArray(parsed) ? parsed : text;
}

/** One line per piece: a stream of two thousand deltas is to be read, not scrolled. Strings hold no raw line ends. */
const CHUNK = /\{\n +("atMs": .*),\n +("(?:text|base64)": .*)\n +\}/g;

/** Text where the piece is valid UTF-8 on its own; a piece may as well begin or end inside a character. */
function writtenChunk({ atMs, bytes }: Chunk): object {
  try {
    return { atMs, text: UTF8.decode(bytes) };
  } catch {
    return { atMs, base64: Buffer.from(bytes).toString('base64') };
  }
}

/** A byte order mark is a part of the piece like any other. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
