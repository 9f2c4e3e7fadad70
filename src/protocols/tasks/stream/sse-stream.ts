import type { ServerResponse } from 'node:http';
import { asPolypodError } from '../../../base/index.ts';
import { lineId, type StreamEvent } from './cursor.ts';
import { wireError } from '../errors.ts';
import { oncePer } from './once-per.ts';
import type { ResumableStream } from './resumable-stream.ts';
import type { ReplyHead } from '../http/route.ts';

export interface SseOptions {
  readonly head: ReplyHead;
  readonly keepAliveMs: number;
  /** Bytes that the client may leave unread before the door waits for it. */
  readonly unreadBytes: number;
  /** Aborted with a reason that is sent to the client. */
  readonly signal: AbortSignal;
  /** Why the session's lines ended before the stream. */
  readonly whyEnded: () => string;
}

/** Sends lines as server-sent events, one write per list, until there are no more or the client disconnects. */
export async function streamSse(
  response: ServerResponse,
  { events, take }: ResumableStream,
  { head, keepAliveMs, unreadBytes, signal, whyEnded }: SseOptions,
): Promise<void> {
  response.writeHead(200, [...sseHead(head)]);
  response.write('retry: 2000\n\n');
  const keepAlive = setInterval(() => response.write(': keep-alive\n\n'), keepAliveMs);
  try {
    for await (const projected of events) {
      if (response.destroyed) return;
      const { batch, isLast } = take(projected);
      if (batch.length > 0) {
        const bytes = bytesOf(batch);
        if (response.writableLength > unreadBytes) await readBy(response, bytes, signal);
        else response.write(bytes);
      }
      if (isLast) return;
    }
    const why = signal.aborted ? String(signal.reason) : whyEnded();
    if (!response.destroyed) response.write(errorEvent(ENDED, why));
  } catch (thrown) {
    const error = asPolypodError(thrown);
    // The message of an internal error is logged, not sent.
    const message = error.code === 'internal' ? 'the stream was interrupted: reconnect' : error.message;
    response.write(errorEvent(wireError(error, '').code, message));
  } finally {
    clearInterval(keepAlive);
    await sent(response);
  }
}

/** Ends the response. Resolves when it was sent completely or the client has disconnected. */
function sent(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) resolve();
    response.once('close', resolve);
    response.end(resolve);
  });
}

/** The code of the error that ends a stream early. */
export const ENDED = 'ended';

/** The headers of a stream. */
export function sseHead(head: ReplyHead): ReplyHead {
  return [...head, 'content-type', 'text/event-stream; charset=utf-8', 'x-accel-buffering', 'no'];
}

/** Resolves when the client has read everything written so far or has disconnected. */
function readBy(response: ServerResponse, bytes: Buffer, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('close', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    response.on('close', done);
    signal.addEventListener('abort', done);
    response.write(bytes, done);
  });
}

const bytesOf = oncePer((batch: readonly StreamEvent[]): Buffer => {
  let text = '';
  for (const event of batch) {
    // Not with `entries`, which costs more than the rest: almost all events are deltas with one line.
    let index = 0;
    for (const line of event.lines) {
      const id = lineId(event, line, index);
      if (id !== undefined) text += `id: ${id}\n`;
      text += `event: ${line.event}\ndata: ${JSON.stringify(line)}\n\n`;
      index += 1;
    }
  }
  return Buffer.from(text);
});

function errorEvent(code: string, message: string): string {
  return `event: error\ndata: ${JSON.stringify({ event: 'error', data: { code, message } })}\n\n`;
}
