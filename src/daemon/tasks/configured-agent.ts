import {
  bindDoor,
  type Door,
  type AcpNeeds,
  type HldNeeds,
  type PodNeeds,
  type RpcNeeds,
} from '../../protocols/index.ts';
import type { KnownDoor } from '../../registry.ts';
import type { DaemonSettings } from '../../setup/config/index.ts';
import { DEFAULT_AGENT, doorName } from './agent-files.ts';
import type { AgentOrder } from './read-agent-config.ts';
import type { TasksParts } from './tasks-listener.ts';

/** What a daemon provides to its doors besides the tasks doors. */
export type DaemonNeeds = PodNeeds & HldNeeds & RpcNeeds & AcpNeeds;

export interface DaemonDoorsOptions {
  readonly given: DaemonNeeds;
  readonly tasks: TasksParts;
  /** The agent that the daemon is started for. */
  readonly ordered: AgentOrder | undefined;
}

/**
 * The doors of a daemon with everything that they need. The tasks door belongs to the agent in config.yaml. A daemon that is
 * started for another agent has no such door, so that `polypod status` does not report it as off.
 */
export function daemonDoors(
  doors: readonly KnownDoor[],
  { given, tasks, ordered }: DaemonDoorsOptions,
): readonly Door[] {
  const request = tasks.configured();
  const name = doorName(request.stated.name ?? DEFAULT_AGENT);
  return doors.flatMap((door): readonly Door[] => {
    if (door.name !== 'tasks') return [bindDoor<DaemonNeeds>(door, given)];
    if (ordered !== undefined) return [];
    // Loaded on first use, because it includes an HTTP server that most daemons do not need.
    const open: Door['open'] = async (context) => {
      const { agentDoor } = await import('./agent-door.ts');
      return agentDoor(door, request, { ...tasks, process: 'daemon' }).open(context);
    };
    return [{ name, needs: [], open }];
  });
}

/** Which doors to open: a network door only if it is configured, the others unless they are disabled. */
export function doorsWanted({ doors, tasks }: DaemonSettings): DaemonSettings['doors'] {
  const isOurs = tasks !== undefined && tasks.start === undefined;
  return { ...doors, [doorName(tasks?.name ?? DEFAULT_AGENT)]: doors.tasks ?? isOurs };
}
