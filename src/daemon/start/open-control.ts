import type { Log } from '../../base/index.ts';
import { attachTo, type ControlServer, listenForControl, podMethods } from '../../control/index.ts';
import type { Host } from '../../pod/index.ts';
import { isPodDoor } from '../../protocols/index.ts';
import { findSession, loadCommandSafety } from '../../setup/index.ts';
import { controlSocket } from '../../setup/paths/index.ts';
import { daemonMethods } from '../control/methods.ts';
import type { Health } from '../observe/health.ts';
import type { UnexpectedErrors } from '../observe/unexpected-errors.ts';
import type { OpenDoors } from '../open-doors.ts';
import type { ReloadResult, Setup } from '../setup.ts';
import type { TasksAgents } from '../tasks/tasks-agents.ts';
import type { DaemonOptions } from './options.ts';

export interface OpenControlParts {
  readonly options: DaemonOptions;
  readonly host: Host;
  readonly setup: Setup;
  readonly log: Log;
  readonly doors: OpenDoors;
  readonly agents: TasksAgents;
  readonly unexpected: UnexpectedErrors;
  readonly health: () => Promise<Health>;
  readonly reload: () => Promise<ReloadResult>;
  readonly stop: (why: string) => Promise<void>;
}

/** Listens on the socket by which the commands reach the daemon. */
export async function openControl({
  options: { env, dataPaths, version },
  host,
  setup,
  log,
  doors,
  agents,
  unexpected,
  health,
  reload,
  stop,
}: OpenControlParts): Promise<ControlServer> {
  const pods = await podMethods({
    podNamed: async (word) => host.pod(findSession(await host.sessions.list(), word).id),
    history: host.history,
    models: () => setup.models,
  });
  const daemon = daemonMethods({
    host,
    setup,
    dataDirectory: dataPaths.dataDirectory,
    health,
    commands: async () => {
      const { commandSafety, describeCommandSafety } = await loadCommandSafety();
      return describeCommandSafety(await commandSafety(env, setup.config));
    },
    reload,
    stop: () => void stop('requested on the control socket'),
    agents,
    releaseSocket: async (podId) => {
      const door = doors.get('pod');
      if (isPodDoor(door)) await door.release(podId);
    },
  });
  return listenForControl({
    path: controlSocket(dataPaths),
    serves: 'daemon',
    version,
    methods: { ...pods, ...daemon },
    takeOvers: { attach: await attachTo(host, () => doors.get('pod')) },
    log,
    caught: (thrown) => unexpected.caught(thrown, 'control'),
  });
}
