import type { DoorContext, OpenDoor } from '../../door.ts';
import { openRelayedDoor } from '../../relayed-door.ts';
import type { RpcNeeds } from '../needs.ts';
import { RPC_SOCKET } from './greeting.ts';
import { readLinkHeader } from './link-header.ts';
import { linkParts } from './link-parts.ts';
import { serveRpc } from './serve.ts';

/** Opens the RPC door of a daemon: a socket on which every `polypod --mode rpc` of this user is a link. */
export async function openRpcDoor(context: DoorContext & RpcNeeds): Promise<OpenDoor> {
  const { host, version, inventory } = context;
  return openRelayedDoor(context, {
    name: 'rpc',
    socket: RPC_SOCKET,
    open: async (header, onRefused) => {
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
