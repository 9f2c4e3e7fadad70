import type { DoorContext, OpenDoor } from '../../door.ts';
import { openRelayedDoor } from '../../relayed-door.ts';
import { ACP_SOCKET, type AcpNeeds } from '../needs.ts';

/** Opens the ACP door of a daemon: a socket on which every `polypod acp` of this user is a connection. */
export async function openAcpDoor(context: DoorContext & AcpNeeds): Promise<OpenDoor> {
  const { host, version, inventory, defaultMode, reloadConfig } = context;
  return openRelayedDoor(context, {
    name: 'acp',
    socket: ACP_SOCKET,
    // Loaded with the first link: the daemon is ready without it.
    open: async (header) => {
      const { linkParts, readLinkHeader, serveAcp } = await import('./open-link.ts');
      const parts = linkParts(readLinkHeader(header), {
        host,
        version,
        inventory,
        mode: defaultMode,
        reload: reloadConfig,
        survivesClient: true,
      });
      return { notices: [], serve: (streams, signal) => serveAcp(streams, parts, signal) };
    },
  });
}
