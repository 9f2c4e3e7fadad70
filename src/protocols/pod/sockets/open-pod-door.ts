import { join } from 'node:path';
import type { DoorContext } from '../../door.ts';
import type { OpenPodDoor, PodNeeds } from '../needs.ts';
import { PodDoor } from '../pod-door.ts';
import { DEFAULT_DUPLEX, serveDuplex } from '../duplex-link.ts';
import { PodSockets } from './pod-sockets.ts';
import { ReachablePods } from './reachable-pods.ts';

/** Opens the pod door of a host: one socket per pod, and connections from the daemon's socket. */
export async function openPodDoor(context: DoorContext & Partial<PodNeeds>): Promise<OpenPodDoor> {
  const { host, log, caught, namedSockets = 0, claimSocket = async () => {} } = context;
  const directory = join(context.directory, 'pods');
  const door = new PodDoor();
  const sockets = new PodSockets(door, { directory, caught: (thrown) => caught?.(thrown, 'pod') });
  const reachable = new ReachablePods({ host, sockets, log, namedLimit: namedSockets, claim: claimSocket });
  await reachable.open();
  return {
    status: () => ({ directory, sockets: sockets.size, links: door.links, refused: door.refused }),
    attach: (link, pod, head) => void serveDuplex(door, pod, link, DEFAULT_DUPLEX, head),
    release: (podId) => reachable.release(podId),
    ready: () => reachable.openRest(),
    close: () => reachable.close(),
  };
}
