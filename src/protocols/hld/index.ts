/** The HumanLayer daemon's protocol: sessions, conversations and approvals as JSON-RPC 2.0 on a Unix socket. */
import type { Door } from '../door.ts';
import type { HldSettings } from './settings.ts';

export { type OpenHld, startHld } from './door.ts';
export { type HldSettings, hldSocketPath } from './settings.ts';

/** What the door needs beyond what every door gets. */
export type HldPlace = Omit<HldSettings, 'host' | 'version' | 'log'>;

/** The door as a daemon opens it; loaded then. */
export function hldDoor(place: HldPlace): Door {
  return {
    name: 'hld',
    open: async ({ host, version, log }) =>
      (await import('./door.ts')).startHld({ ...place, host, version, log }),
  };
}
