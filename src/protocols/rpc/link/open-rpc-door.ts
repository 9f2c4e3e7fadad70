import type { DoorContext, OpenDoor } from '../../door.ts';
import { openRelayedDoor } from '../../relayed-door.ts';
import type { RpcNeeds } from '../needs.ts';
import { RPC_SOCKET } from './greeting.ts';

/** Opens the RPC door of a daemon: a socket on which every `polypod --mode rpc` of this user is a link. */
export async function openRpcDoor(context: DoorContext & RpcNeeds): Promise<OpenDoor> {
  const { host, version, inventory } = context;
  return openRelayedDoor(context, {
    name: 'rpc',
    socket: RPC_SOCKET,
    // Loaded with the first link: the daemon is ready without it.
    open: async (header, onRefused) => {
      const { linkParts, readLinkHeader, serveRpc } = await import('./open-link.ts');
      const { parts, notices } = await linkParts(readLinkHeader(header), {
        host,
        inventory,
        version,
        onRefused,
      });
      return { notices, serve: (streams, signal) => serveRpc(streams, parts, signal) };
    },
  });
}
