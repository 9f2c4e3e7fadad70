import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { asPolypodError, PolypodError } from '../../base/index.ts';
import type { Pod } from '../../pod/index.ts';
import { drained, LineReader, releaseHalfClosed } from '../../wire/index.ts';
import type { PodDoor } from './pod-door.ts';
import type { Link, Receiver } from './link.ts';

export interface DuplexOptions {
  readonly by: string;
  /** Bytes that a client may leave unread before it is disconnected. */
  readonly pendingBytes: number;
  /** How long a client that was disconnected, or that does not read the end, may take before its stream is destroyed. */
  readonly lingerMs: number;
  /** The maximum length of a client's line in bytes. */
  readonly lineBytes: number;
}

export const DEFAULT_DUPLEX: DuplexOptions = {
  by: 'client',
  pendingBytes: 8 * 1024 * 1024,
  lingerMs: 5_000,
  lineBytes: 16 * 1024 * 1024,
};

/**
 * Serves a pod on a stream. Resolves when the client has disconnected; never rejects. `head` is the input that was already read. A client
 * that ends its input still receives events; see `Link.finish`.
 */
export async function serveDuplex(
  door: PodDoor,
  pod: Pod,
  stream: Duplex,
  options: DuplexOptions = DEFAULT_DUPLEX,
  head: Uint8Array = NOTHING,
): Promise<void> {
  // An error also closes the stream, and `close` is handled.
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
    await receiveAll(link, stream, clientLines(options.lineBytes), head);
    link.finish();
    // A client that has exited has ended its input too. Without this, its link would stay until the next write fails.
    if (stream instanceof Socket) releaseHalfClosed(stream);
    await closed;
  } finally {
    link.leave();
  }
}

/** A line that is not UTF-8 is refused on its own. A line that is too long ends the link: its rest could be endless. */
function clientLines(maxBytes: number): LineReader<PolypodError> {
  return new LineReader<PolypodError>({
    limit: { maxBytes },
    utf8: 'reject',
    onInvalid: (error, problem) => {
      if (problem === 'too-long') throw error;
      return error;
    },
  });
}

/** Handles lines one after the other. A client that sends faster is not read meanwhile. */
async function receiveAll(
  link: Link,
  stream: Duplex,
  lines: LineReader<PolypodError>,
  head: Uint8Array,
): Promise<void> {
  try {
    await receive(link, lines.push(head));
    // The stream stays writable after the client has ended its input.
    for await (const chunk of stream.iterator({ destroyOnReturn: false }))
      if (!link.isGone) await receive(link, lines.push(bytesOf(chunk)));
    await receive(link, lines.end());
  } catch (thrown) {
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
    drained: () => drained(stream),
    close: () => {
      if (stream.destroyed) return;
      const timer = setTimeout(() => stream.destroy(), lingerMs);
      stream.once('close', () => clearTimeout(timer));
      // Discards further input: destroying a socket with unread bytes would look like an error to the client.
      stream.end();
      stream.resume();
    },
  };
}

function bytesOf(chunk: unknown): Uint8Array {
  return chunk instanceof Uint8Array ? chunk : Buffer.from(String(chunk));
}

const NOTHING = new Uint8Array();
