/** The daemon: the process that hosts pods and opens doors, and what commands need to connect to it. */
import { dirname } from 'node:path';
import type { AuditEvent, AuditLimits, AuditLog } from '../audit/index.ts';
import { type ControlLink, openControlLink } from '../control/index.ts';
import type { Host } from '../pod/index.ts';
import type { Daemon, DaemonOptions } from './daemon.ts';
import type { DoctorOptions } from './doctor/doctor.ts';
import type { Finding } from './doctor/finding.ts';
import type { FollowOptions } from './observe/follow-lines.ts';
import type { ModelAccess } from '../setup/models/index.ts';
import type { NewSession } from './sessions/new-session.ts';
import type { Setup, SetupOptions } from './setup.ts';
import type { WaitingApproval } from './sessions/pending-approvals.ts';
import { controlSocket, type DataPaths } from '../setup/paths/index.ts';
import { readConfig } from '../setup/index.ts';
import type { GuardOptions } from './sockets/socket-guard.ts';
import type { AgentRecord } from './tasks/agent-files.ts';
import type { AgentOrder } from './tasks/read-agent-config.ts';
import type { TasksAgentRequest } from './tasks/tasks-listener.ts';
import type { watchConfig as watch } from './watch-config.ts';

export type { ApprovalNews } from './control/watch-approvals.ts';
export type { Daemon, DaemonOptions } from './daemon.ts';
export type { ReloadResult, Setup } from './setup.ts';
export type { DoctorOptions } from './doctor/doctor.ts';
export type { Finding } from './doctor/finding.ts';
export type { DoorHealth, Health } from './observe/health.ts';
export type { FollowOptions } from './observe/follow-lines.ts';
export type { NewSession } from './sessions/new-session.ts';
export type { WaitingApproval } from './sessions/pending-approvals.ts';
export {
  type AgentRecord,
  DEFAULT_AGENT,
  isKept,
  NO_AUTH_WARNING,
  readAgent,
  clientKeyFile,
  readAgents,
  readClientKey,
} from './tasks/agent-files.ts';
export { keyEvent } from './tasks/key-event.ts';
export { refuseRevoked } from './tasks/refuse-revoked.ts';
export type { AgentOrder } from './tasks/read-agent-config.ts';

// To keep start-up fast, everything below is loaded on first use: listing sessions loads no provider.

export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  return (await import('./daemon.ts')).startDaemon(options);
}

/** Loads the configuration and its models, which can be reloaded. */
export async function loadSetup(
  options: SetupOptions,
): Promise<{ readonly setup: Setup; readonly warnings: readonly string[] }> {
  return (await import('./setup.ts')).Setup.load(options);
}

/** Reloads the configuration after its file has changed, until the result is called. */
export async function watchConfig(...args: Parameters<typeof watch>): Promise<() => void> {
  return (await import('./watch-config.ts')).watchConfig(...args);
}

/** Connects to the daemon of a data directory; undefined if none is running. */
export async function daemonLink(dataPaths: DataPaths): Promise<ControlLink | undefined> {
  return openControlLink(controlSocket(dataPaths), 'daemon');
}

/** Restores a session from the trash. Rejects if its name or id is in use. */
export async function restoreSession(
  host: Host,
  dataDirectory: string,
  word: string,
): Promise<{ readonly id: string; readonly name?: string }> {
  return (await import('./sessions/restore-session.ts')).restoreSession(host, dataDirectory, word);
}

export async function newSession(
  host: Host,
  models: ModelAccess,
  request: NewSession,
): Promise<{ readonly id: string }> {
  return (await import('./sessions/new-session.ts')).newSession(host, models, request);
}

/** The pending approvals of all sessions of a host, the oldest first. */
export async function pendingApprovals(host: Host): Promise<readonly WaitingApproval[]> {
  return (await import('./sessions/pending-approvals.ts')).pendingApprovals(host);
}

export async function removeSession(host: Host, dataDirectory: string, id: string): Promise<void> {
  await (await import('./sessions/remove-session.ts')).removeSession(host, dataDirectory, id);
}

/** Reads the settings of an agent over HTTP from its own file or config.yaml. */
export async function readAgentSettings(order: AgentOrder, dataPaths: DataPaths): Promise<TasksAgentRequest> {
  const { readAgentConfig } = await import('./tasks/read-agent-config.ts');
  const { config } = await readConfig(dataPaths);
  const from = dirname(dataPaths.configFile);
  return readAgentConfig(order, { stated: config.daemon.tasks ?? {}, from, cwd: order.cwd });
}

/** Records the address of an agent that runs in another process. */
export async function writeAgent(dataPaths: DataPaths, record: AgentRecord): Promise<void> {
  (await import('./tasks/write-agent.ts')).writeAgent(dataPaths, record);
}

/** Stores the key that this user's own commands send. */
export async function writeClientKey(dataPaths: DataPaths, key: string): Promise<void> {
  (await import('./tasks/write-agent.ts')).writeClientKey(dataPaths, key);
}

export async function removeAgent(dataPaths: DataPaths, name: string): Promise<void> {
  (await import('./tasks/write-agent.ts')).removeAgent(dataPaths, name);
}

/** Forgets an agent: the next daemon does not start it. */
export async function forgetAgent(dataPaths: DataPaths, name: string): Promise<void> {
  (await import('./tasks/saved-agents.ts')).forgetAgent(dataPaths, name);
}

/** Changes the keys under a lock. */
export async function changeKeys<T>(
  dataPaths: DataPaths,
  change: (file: string) => T | Promise<T>,
): Promise<T> {
  return (await import('./tasks/key-file.ts')).changeKeys(dataPaths, change);
}

/** Yields the lines that other processes append to files. */
export async function* followLines(options: FollowOptions): AsyncGenerator<readonly string[]> {
  yield* (await import('./observe/follow-lines.ts')).followLines(options);
}

/** Checks everything that can be wrong. */
export async function examine(options: DoctorOptions): Promise<readonly Finding[]> {
  return (await import('./doctor/doctor.ts')).examine(options);
}

/** Sets which processes may connect to the sockets of this one, and records rejected ones until the result is called. */
export async function guardSockets(dataPaths: DataPaths, options: GuardOptions): Promise<() => void> {
  return (await import('./sockets/socket-guard.ts')).guardSockets(dataPaths, options);
}

/** Removes the sockets of a directory that no process listens on. */
export async function sweepSockets(directory: string): Promise<number> {
  return (await import('./sockets/sweep-sockets.ts')).sweepSockets(directory);
}

/** Opens the audit log of a data directory, for a process that hosts pods. */
export async function openAudit(
  dataPaths: DataPaths,
  limits: Partial<AuditLimits> | undefined,
): Promise<AuditLog> {
  return (await import('./audit.ts')).openAudit(dataPaths, { limits });
}

/** Records an action of a command and waits until it is written; false if that is not possible now. */
export async function recordAudit(dataPaths: DataPaths, events: readonly AuditEvent[]): Promise<boolean> {
  const { NO_ROTATION, openAudit: open } = await import('./audit.ts');
  const log = open(dataPaths, { limits: NO_ROTATION });
  for (const event of events) log.record(event);
  return log.close();
}
