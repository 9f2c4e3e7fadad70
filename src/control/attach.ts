import { PolypodError, stringOf } from '../base/index.ts';
import type { Host } from '../pod/index.ts';
import { isPodDoor, type OpenDoor } from '../protocols/index.ts';
import { findSession } from '../setup/index.ts';
import type { ConnectionHandover } from './server.ts';

/** Converts a control connection to a connection of the pod door. Loads the pod if it is not in memory. */
export function attachTo(host: Host, podDoor: () => OpenDoor | undefined): ConnectionHandover {
  return async (socket, params, head) => {
    const door = podDoor();
    if (!isPodDoor(door))
      throw new PolypodError(
        'not-found',
        'the door "pod" is closed: set doors.pod in config.yaml, and restart',
      );
    const { id } = findSession(await host.sessions.list(), stringOf(params.pod));
    door.attach(socket, host.pod(id), head);
  };
}
