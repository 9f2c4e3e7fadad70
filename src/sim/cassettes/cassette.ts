import { isObject, tryParse } from '../../base/index.ts';
import type { HttpRequest } from '../../wire/index.ts';

/** One recorded exchange with a provider: the request, and every chunk of the response with its arrival time. */
export interface Cassette {
  /** ISO 8601. */
  readonly recordedAt: string;
  readonly request: RecordedRequest;
  readonly response: RecordedResponse;
}

export interface RecordedRequest {
  readonly method: HttpRequest['method'];
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** An object or array if the body was JSON of that kind, otherwise the text; absent without a body. */
  readonly body?: unknown;
}

/** Without a status, no response arrived and only the error is present. */
export type RecordedResponse = RecordedAnswer | { readonly error: RecordedError };

export interface RecordedAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly chunks: readonly Chunk[];
  /** Absent if the response completed. */
  readonly error?: RecordedError;
}

/** A chunk of the response body, with the time from the start of the request to its arrival. */
export interface Chunk {
  readonly atMs: number;
  readonly bytes: Uint8Array;
}

export interface RecordedError {
  /** `broken`: the connection broke. `stopped`: the reader stopped before the end of the response. */
  readonly kind: 'broken' | 'stopped';
  readonly atMs: number;
  readonly message: string;
  /** The system error code, for example `ECONNREFUSED`. */
  readonly code?: string;
}

/** The only version of the file format; newer ones are rejected. */
export const CASSETTE_VERSION = 1;

/** Serializes a cassette as the text of its file. */
export function encodeCassette({ recordedAt, request, response }: Cassette): string {
  const chunks = 'status' in response ? { chunks: response.chunks.map(encodeChunk) } : {};
  const document = { version: CASSETTE_VERSION, recordedAt, request, response: { ...response, ...chunks } };
  return `${JSON.stringify(document, null, 2).replace(CHUNK, '{ $1, $2 }')}\n`;
}

/** Returns a request body in the form that cassettes store. */
export function recordedBody(text: string): unknown {
  const parsed = tryParse(text);
  return isObject(parsed) || Array.isArray(parsed) ? parsed : text;
}

/** One line per chunk keeps a stream of two thousand deltas readable. Strings contain no raw line breaks. */
const CHUNK = /\{\n +("atMs": .*),\n +("(?:text|base64)": .*)\n +\}/g;

/** Writes text if the chunk is valid UTF-8 on its own; chunks may begin or end inside a character. */
function encodeChunk({ atMs, bytes }: Chunk): object {
  try {
    return { atMs, text: UTF8.decode(bytes) };
  } catch {
    return { atMs, base64: Buffer.from(bytes).toString('base64') };
  }
}

/** A byte order mark is data like any other. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
