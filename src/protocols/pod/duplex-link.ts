import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { asPolypodError, PolypodError } from '../../base/index.ts';
import type { Pod } from '../../pod/index.ts';
import { ByteLines, releaseHalfClosed } from '../../wire/index.ts';
import type { PodDoor } from './pod-door.ts';
import type { Link, Receiver } from './link.ts';

export interface DuplexOptions {
  readonly by: string;
  /** Bytes that may wait for a client that does not read; past that it is cut off. */
  readonly pendingBytes: number;
  /** How long one that was cut off, or that does not read its end, may take before it is destroyed. */
  readonly lingerMs: number;
  /** Bytes of a client's line. */
  readonly lineBytes: number;
}

export const DEFAULT_DUPLEX: DuplexOptions = {
  by: 'client',
  pendingBytes: 8 * 1024 * 1024,
  lingerMs: 5_000,
  lineBytes: 16 * 1024 * 1024,
};

/**
 * Serves a pod to whoever is at the other end. Resolves when the client is gone; never rejects. `head` is what was read of it
 * before. When it says nothing more it is still told what happens; see `Link.finish`.
 */
export async function serveDuplex(
  door: PodDoor,
  pod: Pod,
  stream: Duplex,
  options: DuplexOptions = DEFAULT_DUPLEX,
  head: Uint8Array = NOTHING,
): Promise<void> {
  // What breaks a stream closes it, which is what counts.
  stream.on('error', () => stream.destroy());
  const receiver = receiverOf(stream, options.lingerMs);
  let link: Link | undefined;
  try {
    link = await door.open(pod, receiver, options);
    await serveLink(link, stream, options, head);
  } catch (thrown) {
    const { message } = asPolypodError(thrown);
    if (link === undefined && stream.writable)
      stream.write(`${JSON.stringify({ event: 'error', data: { code: 'internal', message } })}\n`);
    receiver.close();
  }
}

async function serveLink(
  link: Link,
  stream: Duplex,
  options: DuplexOptions,
  head: Uint8Array,
): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    if (stream.destroyed) resolve();
    else stream.once('close', resolve);
  });
  try {
    await receiveAll(link, stream, new ByteLines(options.lineBytes), head);
    link.finish();
    // A client that was closed has ended its input too, and would stay until the next event cannot be written.
    if (stream instanceof Socket) releaseHalfClosed(stream);
    await closed;
  } finally {
    link.leave();
  }
}

/** Line by line, each when the one before is done: a client that sends faster than that is not read on. */
async function receiveAll(link: Link, stream: Duplex, lines: ByteLines, head: Uint8Array): Promise<void> {
  try {
    await receive(link, lines.push(head));
    // The stream stays open for writing when its client has said all.
    for await (const chunk of stream.iterator({ destroyOnReturn: false }))
      if (!link.isGone) await receive(link, lines.push(bytesOf(chunk)));
    await receive(link, lines.end());
  } catch (thrown) {
    // Where a line has no end nobody knows where the next one begins.
    if (!stream.destroyed) link.end(asPolypodError(thrown));
  }
}

async function receive(link: Link, lines: readonly (string | PolypodError)[]): Promise<void> {
  for (const line of lines) {
    if (link.isGone) return;
    if (line instanceof PolypodError) link.refuse(line);
    else await link.receive(line);
  }
}

function receiverOf(stream: Duplex, lingerMs: number): Receiver {
  return {
    take: ({ bytes }) => {
      if (stream.writable) stream.write(bytes);
    },
    pending: () => stream.writableLength,
    drained: () =>
      new Promise((resolve) => {
        if (stream.destroyed || !stream.writableNeedDrain) {
          resolve();
          return;
        }
        const done = (): void => {
          stream.off('drain', done);
          stream.off('close', done);
          resolve();
        };
        stream.on('drain', done);
        stream.on('close', done);
      }),
    close: () => {
      if (stream.destroyed) return;
      const timer = setTimeout(() => stream.destroy(), lingerMs);
      stream.once('close', () => clearTimeout(timer));
      // What the client still sends is read and let go: a socket that is destroyed with unread bytes looks broken to it.
      stream.end();
      stream.resume();
    },
  };
}

function bytesOf(chunk: unknown): Uint8Array {
  return chunk instanceof Uint8Array ? chunk : Buffer.from(String(chunk));
}

const NOTHING = new Uint8Array();
