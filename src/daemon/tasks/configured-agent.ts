import { bindDoor, type Door, type HldNeeds, type PodNeeds, type RpcNeeds } from '../../protocols/index.ts';
import type { KnownDoor } from '../../registry.ts';
import type { DaemonSettings } from '../../setup/config/index.ts';
import { DEFAULT_AGENT, doorName } from './agent-files.ts';
import type { AgentOrder } from './read-agent-config.ts';
import type { TasksParts } from './tasks-place.ts';

/** What a daemon gives its doors beside the tasks doors. */
export type DaemonNeeds = PodNeeds & HldNeeds & RpcNeeds;

export interface DaemonDoorsOptions {
  readonly given: DaemonNeeds;
  readonly tasks: TasksParts;
  /** The agent that the daemon is started for. */
  readonly ordered: AgentOrder | undefined;
}

/**
 * The doors of a daemon with all that they need. The tasks door is that of the agent in config.yaml; a daemon that is started
 * for another agent has none, so that `polypod status` does not report it as off.
 */
export function daemonDoors(
  doors: readonly KnownDoor[],
  { given, tasks, ordered }: DaemonDoorsOptions,
): readonly Door[] {
  const wish = tasks.configured();
  const name = doorName(wish.stated.name ?? DEFAULT_AGENT);
  return doors.flatMap((door): readonly Door[] => {
    if (door.name !== 'tasks') return [bindDoor<DaemonNeeds>(door, given)];
    if (ordered !== undefined) return [];
    // With it comes a server for HTTP, which most daemons have no use for.
    const open: Door['open'] = async (context) => {
      const { agentDoor } = await import('./agent-door.ts');
      return agentDoor(door, wish, { ...tasks, process: 'daemon' }).open(context);
    };
    return [{ name, needs: [], open }];
  });
}

/** A door on the network is opened when it is asked for; all others unless they are not wanted. */
export function doorsWanted({ doors, tasks }: DaemonSettings): DaemonSettings['doors'] {
  const isOurs = tasks !== undefined && tasks.start === undefined;
  return { ...doors, [doorName(tasks?.name ?? DEFAULT_AGENT)]: doors.tasks ?? isOurs };
}
