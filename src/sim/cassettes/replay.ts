import { setTimeout } from 'node:timers/promises';
import type { HttpResponse, Transport } from '../../wire/index.ts';
import type { Cassette, RecordedAnswer, RecordedError } from './cassette.ts';
import { type Recordings, readRecordings } from './cassette-folder.ts';
import { CassetteMatcher } from './cassette-matcher.ts';

/** Whether chunks arrive at once or with their recorded delays. */
export type Timing = 'instant' | 'recorded';

export type ReplayOptions = Recordings & { readonly timing: Timing };

/**
 * Answers from recordings, chunk by chunk, without a network. Recordings are loaded at the first request and
 * selected by `CassetteMatcher`. Requests that were not recorded are rejected with `not-found`.
 */
export function replayTransport(options: ReplayOptions): Transport {
  let shelf: Promise<CassetteMatcher> | undefined;
  return async (request, watch) => {
    shelf ??= readRecordings(options).then((recordings) => new CassetteMatcher(recordings));
    return await play((await shelf).take(request), options.timing, watch);
  };
}

/** Replays one recorded exchange. */
export async function play(
  { response }: Cassette,
  timing: Timing,
  { signal, onOpen }: Parameters<Transport>[1],
): Promise<HttpResponse> {
  const waitUntil = clock(timing, signal);
  signal.throwIfAborted();
  if (!('status' in response)) {
    await waitUntil(response.error.atMs);
    throw errorFrom(response.error);
  }
  onOpen();
  return { status: response.status, headers: response.headers, body: pieces(response, waitUntil, signal) };
}

async function* pieces(
  { chunks, error }: RecordedAnswer,
  waitUntil: (atMs: number) => Promise<void>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for (const { atMs, bytes } of chunks) {
    await waitUntil(atMs);
    signal.throwIfAborted();
    // A copy: the recording may be replayed again, whatever the reader does with the bytes.
    yield new Uint8Array(bytes);
  }
  signal.throwIfAborted();
  if (error === undefined) return;
  await waitUntil(error.atMs);
  throw errorFrom(error);
}

/** Returns a function that waits until an offset of the recording, measured from now. */
function clock(timing: Timing, signal: AbortSignal): (atMs: number) => Promise<void> {
  const startedAt = performance.now();
  return async (atMs) => {
    const remainingMs = timing === 'recorded' ? startedAt + atMs - performance.now() : 0;
    if (remainingMs > 0) await setTimeout(remainingMs, undefined, { signal });
  };
}

function errorFrom({ message, code }: RecordedError): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}
