import { setTimeout } from 'node:timers/promises';
import type { HttpResponse, Transport } from '../../wire/index.ts';
import type { Cassette, RecordedAnswer, RecordedError } from './cassette.ts';
import { type Recordings, readRecordings } from './cassette-folder.ts';
import { Shelf } from './cassette-shelf.ts';

/** Whether pieces come at once or with the pauses they were recorded with. */
export type Timing = 'instant' | 'recorded';

export type ReplayOptions = Recordings & { readonly timing: Timing };

/**
 * Answers from recordings, byte for byte and piece for piece, with no network. They are read at the first request;
 * which one answers is told at `Shelf`. A request that was not recorded is refused with `not-found`.
 */
export function replayTransport(options: ReplayOptions): Transport {
  let shelf: Promise<Shelf> | undefined;
  return async (request, watch) => {
    shelf ??= readRecordings(options).then((recordings) => new Shelf(recordings));
    return await play((await shelf).take(request), options.timing, watch);
  };
}

/** One recorded exchange once more. */
export async function play(
  { response }: Cassette,
  timing: Timing,
  { signal, onOpen }: Parameters<Transport>[1],
): Promise<HttpResponse> {
  const until = clock(timing, signal);
  signal.throwIfAborted();
  if (!('status' in response)) {
    await until(response.error.atMs);
    throw errorFrom(response.error);
  }
  onOpen();
  return { status: response.status, headers: response.headers, body: pieces(response, until, signal) };
}

async function* pieces(
  { chunks, error }: RecordedAnswer,
  until: (atMs: number) => Promise<void>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  for (const { atMs, bytes } of chunks) {
    await until(atMs);
    signal.throwIfAborted();
    // A copy: the recording may be played again, whatever its reader does with the bytes.
    yield new Uint8Array(bytes);
  }
  signal.throwIfAborted();
  if (error === undefined) return;
  await until(error.atMs);
  throw errorFrom(error);
}

/** Waits for a moment of the recording, counted from now. */
function clock(timing: Timing, signal: AbortSignal): (atMs: number) => Promise<void> {
  const startedAt = performance.now();
  return async (atMs) => {
    const left = timing === 'recorded' ? startedAt + atMs - performance.now() : 0;
    if (left > 0) await setTimeout(left, undefined, { signal });
  };
}

function errorFrom({ message, code }: RecordedError): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}
