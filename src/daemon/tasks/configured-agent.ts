import type { Door } from '../../protocols/index.ts';
import type { DaemonSettings } from '../../setup/config/index.ts';
import { DEFAULT_AGENT, doorName } from './agent-files.ts';
import type { AgentOrder } from './read-agent-config.ts';
import type { TasksParts } from './tasks-place.ts';

/**
 * The doors of a daemon, with the tasks door as that of the agent in config.yaml. One that is started for another agent has
 * no such door: nobody is to wonder why it is off.
 */
export function withAgent(
  doors: readonly Door[],
  tasks: TasksParts,
  ordered: AgentOrder | undefined,
): readonly Door[] {
  if (ordered !== undefined) return doors.filter(({ name }) => name !== 'tasks');
  const wish = tasks.configured();
  const name = doorName(wish.stated.name ?? DEFAULT_AGENT);
  return doors.map((door) => {
    if (door.name !== 'tasks') return door;
    // With it comes a server for HTTP, which most daemons have no use for.
    const open: Door['open'] = async (context) => {
      const { agentDoor } = await import('./agent-door.ts');
      return agentDoor(door, wish, { ...tasks, process: 'daemon' }).open(context);
    };
    return { name, open };
  });
}

/** A door on the network is opened when it is asked for; all others unless they are not wanted. */
export function doorsWanted({ doors, tasks }: DaemonSettings): DaemonSettings['doors'] {
  const isOurs = tasks !== undefined && tasks.start === undefined;
  return { ...doors, [doorName(tasks?.name ?? DEFAULT_AGENT)]: doors.tasks ?? isOurs };
}
