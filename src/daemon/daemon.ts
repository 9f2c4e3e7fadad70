import { inventoryOf } from './inventory.ts';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { AuditLog } from '../audit/index.ts';
import {
  type Log,
  LOG_LEVELS,
  type LogLevel,
  type LogSink,
  logTo,
  messageOf,
  PolypodError,
  userName,
} from '../base/index.ts';
import { attachTo, type ControlServer, listenForControl, podMethods } from '../control/index.ts';
import type { Environment } from '../llm/index.ts';
import { DEFAULT_LIMITS, Host, type ModelChoice } from '../pod/index.ts';
import { type DoorContext, isPodDoor } from '../protocols/index.ts';
import type { KnownDoor } from '../registry.ts';
import type { Lock } from '../store/index.ts';
import type { CommandRecord } from '../tools/index.ts';
import { socketPeers } from '../wire/index.ts';
import type { AgentsOptions } from '../setup/agents/index.ts';
import { openAudit } from './audit.ts';
import { daemonMethods } from './control/methods.ts';
import { checkSandbox } from './doctor/check-sandbox.ts';
import {
  lockDataDirectory,
  makeDataDirectory,
  commandsDirectory,
  controlSocket,
  daemonLogFile,
  type DataPaths,
  hostSockets,
  makePrivate,
  hasRoomForPods,
  refuseDeepSockets,
  SHORTER,
} from '../setup/paths/index.ts';
import { agentsFrom, endLeftCommands, findSession, loadCommandSafety } from '../setup/index.ts';
import { type DaemonState, type Health, healthOf } from './observe/health.ts';
import { UnexpectedErrors } from './observe/unexpected-errors.ts';
import { type LogFile, openLogFile } from './observe/log-file.ts';
import { metricsOf } from './observe/metrics.ts';
import { namedSocketLimit } from './sockets/named-sockets.ts';
import { OpenDoors } from './open-doors.ts';
import { type Reloaded, Setup } from './setup.ts';
import { guardSockets } from './sockets/socket-guard.ts';
import { sweepLocks } from './sockets/sweep-locks.ts';
import { sweepSockets } from './sockets/sweep-sockets.ts';
import { countEvents } from './observe/event-counts.ts';
import { type DaemonNeeds, daemonDoors, doorsWanted } from './tasks/configured-agent.ts';
import type { AgentOrder } from './tasks/read-agent-config.ts';
import { refuseRevoked } from './tasks/refuse-revoked.ts';
import { RevokedTasks } from './tasks/revoked-tasks.ts';
import { TasksAgents } from './tasks/tasks-agents.ts';
import type { TasksParts } from './tasks/tasks-place.ts';

export interface DaemonOptions {
  readonly env: Environment;
  readonly dataPaths: DataPaths;
  readonly version: string;
  readonly doors: readonly KnownDoor[];
  /** Whether they are what it is for: all are opened, whatever is configured, and it does not start without them. */
  readonly needsDoors?: boolean;
  /** An agent over HTTP that it is for as well. */
  readonly agent?: AgentOrder;
  /** Only the simulated model. */
  readonly offline?: boolean;
  /** Whether the commands of all agents run in a sandbox, whatever is configured. */
  readonly sandbox?: boolean;
  /** Before what the environment and the configuration say. */
  readonly logLevel?: LogLevel | undefined;
  /** Where the log goes beside its file. */
  readonly logSinks?: readonly LogSink[];
}

/** What a daemon is made of, as far as it has come. */
interface Parts {
  lock?: Lock;
  /** The directory of the pods' sockets. */
  podSockets?: string;
  logFile?: LogFile;
  audit?: AuditLog;
  /** Stops logging refused connections. */
  stopReporting?: () => void;
  setup?: Setup;
  host?: Host;
  doors?: OpenDoors;
  control?: ControlServer;
  revokedTasks?: RevokedTasks;
}

/** One process that hosts many agents. It has a data directory to itself, and a socket by which commands reach it. */
export interface Daemon {
  readonly socket: string;
  readonly log: Log;
  readonly health: () => Promise<Health>;
  /** Reads the configuration again; with a mistake in it everything stays as it was. */
  readonly reload: () => Promise<Reloaded>;
  /** Begins no run any more, lets those under way end for a while, interrupts the rest, and lets go of everything. */
  readonly stop: (why: string) => Promise<void>;
  /** Resolves when somebody has stopped it. */
  readonly stopped: Promise<void>;
  /** Takes an error that nothing else caught; answers whether the process may go on. */
  readonly uncaught: (thrown: unknown) => boolean;
}

/** Starts a daemon, or fails with the reason and leaves nothing behind. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const parts: Parts = {};
  try {
    return await assembled(options, parts);
  } catch (thrown) {
    await closed(parts);
    throw thrown;
  }
}

async function assembled(options: DaemonOptions, parts: Parts): Promise<Daemon> {
  const { env, dataPaths, version } = options;
  const asked = options.logLevel ?? levelIn(env);
  const { setup, warnings } = await Setup.load({ env, dataPaths, offline: options.offline ?? false });
  parts.setup = setup;
  // Whoever wants a sandbox hears at once that there is none, not when the first command runs.
  if (options.sandbox === true || setup.config.sandbox.enabled === true) await checkSandbox(env, dataPaths);
  refuseDeepSockets(dataPaths);
  makeDataDirectory(dataPaths);
  parts.lock = lockDataDirectory(dataPaths);
  const logFile = (parts.logFile = openLogFile(daemonLogFile(dataPaths)));
  const log = logTo({
    sinks: [logFile.write, ...(options.logSinks ?? [])],
    level: () => asked ?? setup.config.log.level ?? 'info',
    redact: () => setup.redact,
  });
  const audit = (parts.audit = openAudit(dataPaths, {
    redact: () => setup.redact,
    limits: setup.config.daemon.audit,
    onFailure: (reason) => log.error('the audit log cannot be written', { reason }),
  }));
  audit.record({ event: 'daemon.started', door: 'process', by: userName(env), details: { version } });
  for (const warning of warnings) log.warn(warning);
  if (!hasRoomForPods(dataPaths))
    log.warn(`pods have no sockets of their own here: their paths are too long; ${SHORTER}`);
  makePrivate(dataPaths.runtimeDirectory);
  parts.stopReporting = guardSockets(dataPaths, {
    config: () => setup.config,
    audit: audit.record,
    onRefused: (refused) => log.warn('a connection was refused', { ...refused }),
  });
  const podSockets = (parts.podSockets = join(dataPaths.runtimeDirectory, 'pods'));
  const swept = (await sweepSockets(podSockets)) + (await sweepSockets(hostSockets(dataPaths)));
  if (swept > 0) log.info('sockets that were left behind are taken away', { swept });
  const locks = sweepLocks(dataPaths);
  if (locks > 0) log.info('locks of sessions that were never written are removed', { locks });

  const { hibernateAfterMs, durability, limits, approvals } = setup.config.daemon;
  let tasksAgents: TasksAgents | undefined;
  const agents: AgentsOptions = {
    sandbox: options.sandbox ?? false,
    env,
    dataPaths,
    version,
    get config() {
      return setup.config;
    },
    get models() {
      return setup.models;
    },
    ownFiles: () => tasksAgents?.files ?? [],
    audit: audit.record,
    onServerChange: (pod, { name, state, error }) => log.info('MCP server', { pod, name, state, error }),
  };
  const lastResort = new UnexpectedErrors(log);
  let failures = 0;
  const host = (parts.host = await Host.open({
    directory: dataPaths.dataDirectory,
    // Tools and servers are loaded with the first agent, not with the daemon.
    agents: agentsFrom(agents),
    limits,
    approvals,
    audit: audit.record,
    refuseStart: refuseRevoked(dataPaths),
    ...(hibernateAfterMs === undefined ? {} : { hibernateAfterMs }),
    ...(durability === undefined ? {} : { durability }),
    onFailure: (error, pod) => {
      failures += 1;
      log.error(error.message, { code: error.code, pod });
    },
  }));

  let state: DaemonState = 'starting';
  const openDoors = (parts.doors = new OpenDoors());
  const health = healthOf({
    host,
    doors: openDoors,
    version,
    limits,
    dataDirectory: dataPaths.dataDirectory,
    startedAt: new Date(),
    state: () => state,
    failures: () => failures,
    contained: () => lastResort.count,
    refusedConnections: () => socketPeers.refused,
    counts: countEvents(host),
  });

  const reload = async (): Promise<Reloaded> => {
    try {
      const reloaded = await setup.reload();
      for (const warning of reloaded.warnings) log.warn(warning);
      log.info('configuration reloaded', { ...reloaded });
      audit.record({ event: 'config.reloaded', door: 'process', details: { ...reloaded } });
      return reloaded;
    } catch (thrown) {
      log.error('the configuration stays as it was', { reason: messageOf(thrown) });
      throw thrown;
    }
  };

  let stopping: Promise<void> | undefined;
  let tellStopped = (): void => {};
  const stopped = new Promise<void>((resolve) => {
    tellStopped = resolve;
  });
  const stop = (why: string): Promise<void> => {
    stopping ??= (async () => {
      state = 'draining';
      const { shutdownGraceMs } = setup.config.daemon;
      audit.record({ event: 'daemon.stopped', door: 'process', details: { why } });
      log.info('stopping', { why, runs: host.usage.runs, graceSeconds: shutdownGraceMs / 1000 });
      await host.drain(shutdownGraceMs);
      await closed(parts, log);
      tellStopped();
    })();
    return stopping;
  };

  for (const { podId, command, ended } of await leftCommands(dataPaths))
    log.warn('a command outlived the process that ran it and was ended', { pod: podId, command, ended });
  const interrupted = await host.recover();
  if (interrupted.length > 0) log.warn('sessions were left unfinished', { pods: interrupted });
  const revokedTasks = (parts.revokedTasks = new RevokedTasks({ host, dataPaths, log, audit: audit.record }));
  await revokedTasks.open();
  const modelNamed = async (word: string): Promise<ModelChoice | undefined> => {
    const ready = await setup.models.named(word);
    return ready && { provider: ready.model.account, modelId: ready.model.id };
  };
  const doorContext: DoorContext = {
    host,
    directory: dataPaths.runtimeDirectory,
    version,
    log,
    caught: lastResort.caught,
    audit: audit.record,
  };
  const given: DaemonNeeds = {
    user: { home: dataPaths.home, cwd: process.cwd(), env },
    modelNamed,
    inventory: inventoryOf({ env, dataPaths, setup, host }),
    namedSockets: namedSocketLimit(),
    // A daemon takes over no socket: the process that has a pod in memory asks the daemon for it.
    claimSocket: async () => {},
  };
  const tasks: TasksParts = {
    env,
    dataPaths,
    vitals: { health: async () => ({ ...(await health()) }), metrics: async () => metricsOf(await health()) },
    watcher: limits.watcher ?? DEFAULT_LIMITS.watcher,
    modelNamed,
    usualMode: () => setup.config.permissions.mode,
    isDraining: () => state === 'draining',
    watchKeys: () => revokedTasks.watch(),
    configured: () => ({
      stated: setup.config.daemon.tasks ?? {},
      from: dirname(dataPaths.configFile),
      cwd: process.cwd(),
    }),
  };
  const doors = daemonDoors(options.doors, { given, tasks, ordered: options.agent });
  if (options.needsDoors === true) await openDoors.insist(doors, doorContext);
  else await openDoors.open(doors, doorsWanted(setup.config.daemon), doorContext);
  tasksAgents = new TasksAgents(openDoors, doorContext, tasks);
  if (options.agent !== undefined) await tasksAgents.start(options.agent, { process: 'own', lasts: false });
  await tasksAgents.restore();
  const socket = controlSocket(dataPaths);
  parts.control = await listenForControl({
    path: socket,
    serves: 'daemon',
    version,
    methods: {
      ...(await podMethods({
        podNamed: async (word) => host.pod(findSession(await host.list(), word).id),
        models: () => setup.models,
      })),
      ...daemonMethods({
        host,
        setup,
        dataDirectory: dataPaths.dataDirectory,
        health,
        commands: async () => {
          const { commandSafety, safetyTexts } = await loadCommandSafety();
          return safetyTexts(await commandSafety(env, setup.config));
        },
        reload,
        stop: () => void stop('asked on the control socket'),
        agents: tasksAgents,
        releaseSocket: async (podId) => {
          const door = openDoors.get('pod');
          if (isPodDoor(door)) await door.release(podId);
        },
      }),
    },
    takeOvers: { attach: await attachTo(host, () => openDoors.get('pod')) },
    log,
    caught: (thrown) => lastResort.caught(thrown, 'control'),
  });
  state = 'ready';
  openDoors.ready();
  log.info('ready', { pid: process.pid, version, socket, doors: openDoors.health() });
  return { socket, log, health, reload, stop, stopped, uncaught: lastResort.uncaught };
}

/** Ends what a killed process has left running. What looks for it is loaded only if there is something recorded. */
async function leftCommands(dataPaths: DataPaths): Promise<readonly CommandRecord[]> {
  if (!existsSync(commandsDirectory(dataPaths))) return [];
  return endLeftCommands(dataPaths);
}

/** Those who still watch see the last events, so the pods are closed before the doors; the lock goes last. */
async function closed(
  { host, doors, control, setup, logFile, audit, lock, podSockets, stopReporting, revokedTasks }: Parts,
  log?: Log,
): Promise<void> {
  const step = async (name: string, close: () => unknown): Promise<void> => {
    try {
      await close();
    } catch (thrown) {
      log?.error(`cannot close the ${name}`, { reason: messageOf(thrown) });
    }
  };
  revokedTasks?.close();
  await step('pods', () => host?.shutdown());
  await step('doors', () => doors?.close());
  await step('control socket', () => control?.close());
  await step('left sockets', () => podSockets && sweepSockets(podSockets));
  await step('models', () => setup?.close());
  stopReporting?.();
  await step('audit log', () => audit?.close());
  log?.info('stopped');
  await step('log', () => logFile?.close());
  await step('lock', () => lock?.release());
}

function levelIn({ POLYPOD_LOG_LEVEL: word }: Environment): LogLevel | undefined {
  if (word === undefined || word === '') return undefined;
  const level = LOG_LEVELS.find((known) => known === word);
  if (level !== undefined) return level;
  throw new PolypodError('bad-request', `POLYPOD_LOG_LEVEL is "${word}": it can be ${LOG_LEVELS.join(', ')}`);
}
