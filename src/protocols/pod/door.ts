import type { Door, OpenDoor } from '../door.ts';
import type { OpenPodDoor, PodNeeds } from './needs.ts';

export const podDoor: Door<PodNeeds, 'pod'> = {
  name: 'pod',
  needs: ['namedSockets', 'claimSocket'],
  open: async (context) => (await import('./sockets/open-pod-door.ts')).openPodDoor(context),
};

export function isPodDoor(door: OpenDoor | undefined): door is OpenPodDoor {
  return door !== undefined && 'attach' in door && 'release' in door;
}
