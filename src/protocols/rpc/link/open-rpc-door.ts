import { once } from 'node:events';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { messageOf } from '../../../base/index.ts';
import { containFailures, listenUnix } from '../../../wire/index.ts';
import type { DoorContext, OpenDoor } from '../../door.ts';
import type { RpcNeeds } from '../needs.ts';
import { encodeGreeting, RPC_SOCKET } from './greeting.ts';
import { serveSocket } from './serve-socket.ts';

/** How long closing waits for a client that does not read. */
const PATIENCE_MS = 1_000;

/** Opens the RPC door of a daemon: a socket on which every `polypod --mode rpc` of this user is a link. */
export async function openRpcDoor({
  host,
  directory,
  version,
  log,
  caught,
  inventory,
}: DoorContext & RpcNeeds): Promise<OpenDoor> {
  const path = join(directory, RPC_SOCKET);
  const over = new AbortController();
  const sockets = new Set<Socket>();
  const serving = new Set<Promise<void>>();
  let refused = 0;
  const onRefused = (): void => {
    refused += 1;
  };
  const accept = (socket: Socket): void => {
    sockets.add(socket);
    containFailures(socket, (thrown) => caught?.(thrown, 'rpc'));
    socket.once('close', () => sockets.delete(socket));
    const served = serveSocket(socket, { host, inventory, version, onRefused }, over.signal).catch(
      (thrown: unknown) => {
        // A client that disconnects is not an internal error.
        if (!socket.destroyed) log.warn('an RPC link failed', { reason: messageOf(thrown) });
        socket.destroy();
      },
    );
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
