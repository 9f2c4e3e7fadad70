import { logTo, redactor } from '../base/index.ts';
import { type Config, guardSockets, type Places } from '../daemon/index.ts';
import type { Host } from '../pod/index.ts';
import type { OpenDoor } from '../protocols/index.ts';
import { doors } from '../registry.ts';
import { version } from './version.ts';

/** Has the pods of this process listen on sockets of their own, so that others can attach; undefined where that cannot be. */
export async function publishPods(host: Host, places: Places, config: Config): Promise<OpenDoor | undefined> {
  await guardSockets(places, () => config);
  const log = logTo({ sinks: [], level: () => 'error', redact: () => redactor([]) });
  try {
    const door = doors.find(({ name }) => name === 'pod');
    return await door?.open({ host, directory: places.runtimeDirectory, version: version(), log });
  } catch {
    // It is a convenience for others: the run is none the worse without it.
    return undefined;
  }
}
