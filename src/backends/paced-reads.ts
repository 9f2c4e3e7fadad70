import { getDefaultHighWaterMark, type Readable, setDefaultHighWaterMark } from 'node:stream';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';

/**
 * Creates streams for `pacedReads`, which take one piece from the system when data is wanted. A stream with the default limit
 * takes every piece that the other side writes, one by one, also while nobody reads it.
 */
export function withoutReadAhead<T>(create: () => T): T {
  const before = getDefaultHighWaterMark(false);
  setDefaultHighWaterMark(false, 1);
  try {
    return create();
  } finally {
    setDefaultHighWaterMark(false, before);
  }
}

/**
 * Reads a stream at most once per interval. Agents write every few characters of an answer on their own, and each read has
 * its costs, down to the file and the sockets to which its events are written: what was written meanwhile is read together. The
 * first data after a quiet interval is read at once.
 */
export async function* pacedReads(stream: Readable, intervalMs = INTERVAL_MS): AsyncGenerator<Buffer> {
  const chunks: AsyncIterable<Buffer> = stream;
  let pieces: Buffer[] = [];
  let isAfterPause = false;
  for await (const chunk of chunks) {
    pieces.push(chunk);
    if (isAfterPause) {
      isAfterPause = false;
      // This is what the stream had already; what arrived in the pause is in it after the next poll of the event loop.
      await setImmediate();
      if (stream.readableLength > 0 && !stream.destroyed) continue;
    }
    const bytes = pieces.length === 1 ? chunk : Buffer.concat(pieces);
    pieces = [];
    yield bytes;
    // More is waiting, and the sender may be waiting too.
    if (bytes.length >= LARGE) continue;
    await delay(intervalMs);
    isAfterPause = true;
  }
}

const INTERVAL_MS = 16;
/** The size of a read that is worth its costs. */
const LARGE = 65_536;
