import { PolypodError, stringOf } from '../../base/index.ts';
import type { Host } from '../../pod/index.ts';
import { findSession } from '../../setup/index.ts';
import type { OpenDoors } from '../open-doors.ts';
import type { TakeOver } from './server.ts';

/** Makes a link on the daemon's socket one of the pod door: a pod that is not in memory has no socket of its own, and wakes. */
export function attachTo(host: Host, doors: OpenDoors): TakeOver {
  return async (socket, params, head) => {
    const door = doors.get('pod');
    if (door?.attach === undefined)
      throw new PolypodError(
        'not-found',
        'the door "pod" is closed: set doors.pod in config.yaml, and restart',
      );
    const { id } = findSession(await host.list(), stringOf(params.pod));
    door.attach(socket, host.pod(id), head);
  };
}
