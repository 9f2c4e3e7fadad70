import { PolypodError, stringOf } from '../base/index.ts';
import type { Host } from '../pod/index.ts';
import { isPodDoor, type OpenDoor } from '../protocols/index.ts';
import { findSession } from '../setup/index.ts';
import type { TakeOver } from './server.ts';

/** Turns a connection to a control socket into one of the pod door. It loads a pod that is not in memory. */
export function attachTo(host: Host, podDoor: () => OpenDoor | undefined): TakeOver {
  return async (socket, params, head) => {
    const door = podDoor();
    if (!isPodDoor(door))
      throw new PolypodError(
        'not-found',
        'the door "pod" is closed: set doors.pod in config.yaml, and restart',
      );
    const { id } = findSession(await host.list(), stringOf(params.pod));
    door.attach(socket, host.pod(id), head);
  };
}
