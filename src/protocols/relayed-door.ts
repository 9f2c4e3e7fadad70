import { once } from 'node:events';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { messageOf } from '../base/index.ts';
import { containFailures, firstLine, listenUnix } from '../wire/index.ts';
import type { DoorContext, OpenDoor } from './door.ts';
import { encodeGreeting } from './greeting.ts';

/** The input and output of a client. */
export interface LinkStreams {
  readonly input: AsyncIterable<Uint8Array>;
  readonly output: Writable;
}

/** A link whose header was accepted. */
export interface OpenedLink {
  readonly notices: readonly string[];
  readonly serve: (streams: LinkStreams, signal: AbortSignal) => Promise<void>;
}

export interface RelayedDoor {
  readonly name: string;
  /** The file name of the socket in the runtime directory. */
  readonly socket: string;
  /** Reads the header of a link. Throws the reason if it cannot be served. */
  readonly open: (header: string, onRefused: () => void) => Promise<OpenedLink>;
}

/** How long closing waits for a client that does not read. */
const PATIENCE_MS = 1_000;

/**
 * Opens the socket of a protocol that clients speak on stdio: each link is a program of this user that relays bytes. It sends one
 * line with its options, receives a greeting, and then speaks the protocol.
 */
export async function openRelayedDoor(
  { directory, log, caught }: DoorContext,
  door: RelayedDoor,
): Promise<OpenDoor> {
  const path = join(directory, door.socket);
  const over = new AbortController();
  const sockets = new Set<Socket>();
  const serving = new Set<Promise<void>>();
  let refused = 0;
  const onRefused = (): void => {
    refused += 1;
  };
  const accept = (socket: Socket): void => {
    sockets.add(socket);
    containFailures(socket, (thrown) => caught?.(thrown, door.name));
    socket.once('close', () => sockets.delete(socket));
    const served = serveSocket(socket, door, onRefused, over.signal).catch((thrown: unknown) => {
      // A client that disconnects is not an internal error.
      if (!socket.destroyed) log.warn(`a link of ${door.name} failed`, { reason: messageOf(thrown) });
      socket.destroy();
    });
    serving.add(served);
    void served.then(() => serving.delete(served));
  };
  const server = await listenUnix(path, accept, {
    refusal: (message) => {
      onRefused();
      return encodeGreeting({ refused: message });
    },
  });
  return {
    status: () => ({ socket: path, links: sockets.size, refused }),
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      over.abort();
      await Promise.all(serving);
      const patience = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, PATIENCE_MS);
      await closed;
      clearTimeout(patience);
    },
  };
}

async function serveSocket(
  socket: Socket,
  { open }: RelayedDoor,
  onRefused: () => void,
  signal: AbortSignal,
): Promise<void> {
  // The client may end its input before it has read all answers.
  const chunks: AsyncIterator<Uint8Array, undefined> = socket.iterator({ destroyOnReturn: false });
  const first = await firstLine(chunks);
  if (first === undefined) return void socket.destroy();
  let opened: OpenedLink;
  try {
    opened = await open(first.line, onRefused);
  } catch (thrown) {
    onRefused();
    return void socket.end(encodeGreeting({ refused: messageOf(thrown) }));
  }
  socket.write(encodeGreeting({ open: true, notices: opened.notices }));
  await opened.serve({ input: behind(first.rest, chunks), output: socket }, signal);
  socket.end();
}

async function* behind(
  rest: Uint8Array,
  chunks: AsyncIterator<Uint8Array, undefined>,
): AsyncGenerator<Uint8Array> {
  if (rest.length > 0) yield rest;
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value;
}
