import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Log, messageOf } from '../base/index.ts';
import { DEFAULT_LIMITS, type ModelChoice } from '../pod/index.ts';
import type { DoorContext } from '../protocols/index.ts';
import { endOrphanedCommands } from '../setup/index.ts';
import { commandsDirectory, controlSocket, type DataPaths } from '../setup/paths/index.ts';
import type { CommandRecord } from '../tools/index.ts';
import { socketPeers } from '../wire/index.ts';
import { inventoryOf } from './inventory.ts';
import { countEvents } from './observe/event-counts.ts';
import { type Health, healthOf } from './observe/health.ts';
import { metricsOf } from './observe/metrics.ts';
import { UnexpectedErrors } from './observe/unexpected-errors.ts';
import { OpenDoors } from './open-doors.ts';
import type { ReloadResult, WhenMissing } from './setup.ts';
import { watchConfig } from './watch-config.ts';
import { namedSocketLimit } from './sockets/named-sockets.ts';
import { openControl } from './start/open-control.ts';
import { openDataDirectory } from './start/open-data-directory.ts';
import { openHost } from './start/open-host.ts';
import type { DaemonOptions } from './start/options.ts';
import { closeParts, type DaemonParts } from './start/parts.ts';
import { Shutdown } from './start/shutdown.ts';
import { type DaemonNeeds, daemonDoors, doorsWanted } from './tasks/configured-agent.ts';
import { RevokedTasks } from './tasks/revoked-tasks.ts';
import { TasksAgents } from './tasks/tasks-agents.ts';
import type { TasksParts } from './tasks/tasks-listener.ts';

export type { DaemonOptions } from './start/options.ts';

/** One process that hosts many agents. It owns a data directory, and commands reach it by a socket. */
export interface Daemon {
  readonly socket: string;
  readonly log: Log;
  readonly health: () => Promise<Health>;
  /** Reads the configuration again. If it is invalid, nothing changes. */
  readonly reload: () => Promise<ReloadResult>;
  /** Starts no more runs, waits a while for the current ones, interrupts the rest, and releases everything. */
  readonly stop: (why: string) => Promise<void>;
  /** Resolves when it has stopped. */
  readonly stopped: Promise<void>;
  /** Handles an error that nothing else caught. Returns whether the process may continue. */
  readonly uncaught: (thrown: unknown) => boolean;
}

/** Starts a daemon. If that fails, it leaves nothing behind and throws the reason. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const parts: DaemonParts = {};
  try {
    return await started(options, parts);
  } catch (thrown) {
    await closeParts(parts);
    throw thrown;
  }
}

async function started(options: DaemonOptions, parts: DaemonParts): Promise<Daemon> {
  const { env, dataPaths, version } = options;
  const { setup, log, audit } = await openDataDirectory(options, parts);
  let tasksAgents: TasksAgents | undefined;
  const ownFiles = () => tasksAgents?.files ?? [];
  const { host, failures } = await openHost({ options, setup, log, audit, ownFiles });
  parts.host = host;
  const doors = (parts.doors = new OpenDoors());
  const close = () => closeParts(parts, log);
  const shutdown = new Shutdown({ setup, host, log, audit, close });
  const unexpected = new UnexpectedErrors(log);
  const { limits } = setup.config.daemon;
  const health = healthOf({
    host,
    doors,
    version,
    limits,
    dataDirectory: dataPaths.dataDirectory,
    startedAt: new Date(),
    state: () => shutdown.state,
    failures,
    contained: () => unexpected.count,
    refusedConnections: () => socketPeers.refused,
    counts: countEvents(host),
  });

  const reload = async (whenMissing?: WhenMissing): Promise<ReloadResult> => {
    try {
      const reloaded = await setup.reload(whenMissing);
      for (const warning of reloaded.warnings) log.warn(warning);
      log.info('configuration reloaded', { ...reloaded });
      audit.record({ event: 'config.reloaded', door: 'process', details: { ...reloaded } });
      return reloaded;
    } catch (thrown) {
      log.error('the configuration was not reloaded', { reason: messageOf(thrown) });
      throw thrown;
    }
  };

  for (const { podId, command, ended } of await endCommands(dataPaths))
    log.warn('a command outlived the process that ran it and was ended', { pod: podId, command, ended });
  const interrupted = await host.recover();
  if (interrupted.length > 0) log.warn('sessions were left unfinished', { pods: interrupted });
  const revokedTasks = (parts.revokedTasks = new RevokedTasks({ host, dataPaths, log, audit: audit.record }));
  await revokedTasks.open();

  const modelNamed = async (word: string): Promise<ModelChoice | undefined> => {
    const ready = await setup.models.find(word);
    return ready && { provider: ready.model.account, modelId: ready.model.id };
  };
  const doorContext: DoorContext = {
    host,
    directory: dataPaths.runtimeDirectory,
    version,
    log,
    caught: unexpected.caught,
    audit: audit.record,
  };
  const given: DaemonNeeds = {
    user: { home: dataPaths.home, cwd: process.cwd(), env },
    modelNamed,
    inventory: inventoryOf({ env, dataPaths, setup, host }),
    defaultMode: () => setup.config.permissions.mode ?? 'workspace-write',
    reloadConfig: async () => void (await reload('keep')),
    namedSockets: namedSocketLimit(),
    // A daemon takes over no socket: the process that has a pod in memory asks the daemon for it.
    claimSocket: async () => {},
  };
  const tasks: TasksParts = {
    env,
    dataPaths,
    monitoring: {
      health: async () => ({ ...(await health()) }),
      metrics: async () => metricsOf(await health()),
    },
    watcher: limits.watcher ?? DEFAULT_LIMITS.watcher,
    modelNamed,
    defaultMode: () => setup.config.permissions.mode ?? 'workspace-write',
    isDraining: () => shutdown.state === 'draining',
    watchKeys: () => revokedTasks.watch(),
    configured: () => ({
      stated: setup.config.daemon.tasks ?? {},
      from: dirname(dataPaths.configFile),
      cwd: process.cwd(),
    }),
  };
  const known = daemonDoors(options.doors, { given, tasks, ordered: options.agent });
  if (options.needsDoors === true) await doors.openOrFail(known, doorContext);
  else await doors.open(known, doorsWanted(setup.config.daemon), doorContext);
  const agents = (tasksAgents = new TasksAgents(doors, doorContext, tasks));
  if (options.agent !== undefined) await agents.start(options.agent, { process: 'own', isPermanent: false });
  await agents.restore();

  const stop = (why: string): Promise<void> => shutdown.stop(why);
  const control = {
    options,
    host,
    setup,
    log,
    doors,
    agents,
    unexpected,
    health,
    reload: () => reload(),
    stop,
  };
  parts.control = await openControl(control);
  parts.stopWatchingConfig = watchConfig(setup, () => reload(), log);
  shutdown.state = 'ready';
  doors.ready();
  const socket = controlSocket(dataPaths);
  log.info('ready', { pid: process.pid, version, socket, doors: doors.health() });
  return {
    socket,
    log,
    health,
    reload: () => reload(),
    stop,
    stopped: shutdown.stopped,
    uncaught: unexpected.uncaught,
  };
}

/** Ends the commands of a killed process. The code for that is loaded only if there are records. */
async function endCommands(dataPaths: DataPaths): Promise<readonly CommandRecord[]> {
  if (!existsSync(commandsDirectory(dataPaths))) return [];
  return endOrphanedCommands(dataPaths);
}
