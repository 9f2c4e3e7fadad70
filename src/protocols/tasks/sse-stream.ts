import type { ServerResponse } from 'node:http';
import { asPolypodError } from '../../base/index.ts';
import type { PlacedLine } from './cursor.ts';
import type { StreamLine } from './wire.ts';

export interface SseOptions {
  readonly keepAliveMs: number;
  /** Bytes that the client may leave unread before we wait for it. */
  readonly unreadBytes: number;
  /** With a reason that the client is told. */
  readonly signal: AbortSignal;
}

/** Sends lines as server-sent events until there are no more, or the client is gone. */
export async function streamSse(
  response: ServerResponse,
  lines: AsyncIterable<PlacedLine>,
  { keepAliveMs, unreadBytes, signal }: SseOptions,
): Promise<void> {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  response.write('retry: 2000\n\n');
  const keepAlive = setInterval(() => response.write(': keep-alive\n\n'), keepAliveMs);
  try {
    for await (const placedLine of lines) {
      if (response.destroyed) return;
      corkUntilQuiet(response);
      const isFull = response.writableLength > unreadBytes;
      const bytes = bytesOf(placedLine);
      if (isFull) await readBy(response, (done) => response.write(bytes, done), signal);
      else response.write(bytes);
    }
    if (signal.aborted && !response.destroyed) response.write(errorEvent('ended', String(signal.reason)));
  } catch (thrown) {
    const { code, message } = asPolypodError(thrown);
    // What a bug says is for the log, not for the client.
    response.write(errorEvent(code, code === 'internal' ? 'the stream broke off: connect again' : message));
  } finally {
    clearInterval(keepAlive);
    // Node 24 forgets what is still corked when the response ends.
    while (response.writableCorked > 0) response.uncork();
    response.end();
  }
}

/** All that is told in one breath leaves in one write. */
function corkUntilQuiet(response: ServerResponse): void {
  if (response.writableCorked > 0) return;
  response.cork();
  setImmediate(() => response.uncork());
}

/** Resolves when the client has read all up to what is written now, or is gone. */
function readBy(
  response: ServerResponse,
  write: (done: () => void) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('close', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    response.on('close', done);
    signal.addEventListener('abort', done);
    write(done);
    response.uncork();
  });
}

/** Every client of a session is told the same lines: they are written out once. */
const BYTES = new WeakMap<StreamLine, Buffer>();

function bytesOf({ line, id }: PlacedLine): Buffer {
  const known = BYTES.get(line);
  if (known !== undefined) return known;
  const head = id === undefined ? '' : `id: ${id}\n`;
  const bytes = Buffer.from(`${head}event: ${line.event}\ndata: ${JSON.stringify(line)}\n\n`);
  BYTES.set(line, bytes);
  return bytes;
}

function errorEvent(code: string, message: string): string {
  return `event: error\ndata: ${JSON.stringify({ event: 'error', data: { code, message } })}\n\n`;
}
