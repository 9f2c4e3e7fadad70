/** The daemon: the process that hosts pods and opens doors, and what commands need to reach it. */
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
import { controlSocket, type DataPaths } from '../setup/paths/index.ts';
import { readConfig } from '../setup/index.ts';
import type { GuardOptions } from './sockets/socket-guard.ts';
import type { AgentRecord } from './tasks/agent-files.ts';
import type { AgentOrder } from './tasks/read-agent-config.ts';
import type { AgentRequest } from './tasks/tasks-place.ts';

export type { ApprovalNews } from './control/watch-approvals.ts';
export type { Daemon, DaemonOptions } from './daemon.ts';
export type { Reloaded } from './setup.ts';
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

// Start-up is a feature: all that follows is loaded when it is used, so that a list of sessions needs no provider.

export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  return (await import('./daemon.ts')).startDaemon(options);
}

/** A link to the daemon of a data directory; undefined when none is up. */
export async function daemonLink(dataPaths: DataPaths): Promise<ControlLink | undefined> {
  return openControlLink(controlSocket(dataPaths), 'daemon');
}

export async function newSession(
  host: Host,
  models: ModelAccess,
  wish: NewSession,
): Promise<{ readonly id: string }> {
  return (await import('./sessions/new-session.ts')).newSession(host, models, wish);
}

export async function removeSession(host: Host, dataDirectory: string, id: string): Promise<void> {
  await (await import('./sessions/remove-session.ts')).removeSession(host, dataDirectory, id);
}

/** What an agent over HTTP is to be: as its own file says, or config.yaml. */
export async function readAgentSettings(order: AgentOrder, dataPaths: DataPaths): Promise<AgentRequest> {
  const { readAgentConfig } = await import('./tasks/read-agent-config.ts');
  const { config } = await readConfig(dataPaths);
  const from = dirname(dataPaths.configFile);
  return readAgentConfig(order, { stated: config.daemon.tasks ?? {}, from, cwd: order.cwd });
}

/** Writes down where an agent is that runs elsewhere. */
export async function writeAgent(dataPaths: DataPaths, record: AgentRecord): Promise<void> {
  (await import('./tasks/write-agent.ts')).writeAgent(dataPaths, record);
}

/** Keeps the key that this user's own commands send. */
export async function writeClientKey(dataPaths: DataPaths, key: string): Promise<void> {
  (await import('./tasks/write-agent.ts')).writeClientKey(dataPaths, key);
}

export async function removeAgent(dataPaths: DataPaths, name: string): Promise<void> {
  (await import('./tasks/write-agent.ts')).removeAgent(dataPaths, name);
}

/** From now on the agent does not come back with the next daemon. */
export async function forgetAgent(dataPaths: DataPaths, name: string): Promise<void> {
  (await import('./tasks/kept-agents.ts')).forgetAgent(dataPaths, name);
}

/** Changes the keys while nobody else does. */
export async function changeKeys<T>(
  dataPaths: DataPaths,
  change: (file: string) => T | Promise<T>,
): Promise<T> {
  return (await import('./tasks/key-file.ts')).changeKeys(dataPaths, change);
}

/** The lines of files as others write them. */
export async function* followLines(options: FollowOptions): AsyncGenerator<readonly string[]> {
  yield* (await import('./observe/follow-lines.ts')).followLines(options);
}

/** Looks at everything that may be wrong. */
export async function examine(options: DoctorOptions): Promise<readonly Finding[]> {
  return (await import('./doctor/doctor.ts')).examine(options);
}

/** Sets who may connect to the sockets of this process, and records who was refused, until the result is called. */
export async function guardSockets(dataPaths: DataPaths, options: GuardOptions): Promise<() => void> {
  return (await import('./sockets/socket-guard.ts')).guardSockets(dataPaths, options);
}

/** Removes the sockets of a directory that no process listens on. */
export async function sweepSockets(directory: string): Promise<number> {
  return (await import('./sockets/sweep-sockets.ts')).sweepSockets(directory);
}

/** The audit log of a data directory, for a process that hosts pods. */
export async function openAudit(
  dataPaths: DataPaths,
  limits: Partial<AuditLimits> | undefined,
): Promise<AuditLog> {
  return (await import('./audit.ts')).openAudit(dataPaths, { limits });
}

/** Records what a command did, and waits until it is written; false if that is not possible now. */
export async function recordAudit(dataPaths: DataPaths, events: readonly AuditEvent[]): Promise<boolean> {
  const { NO_ROTATION, openAudit: open } = await import('./audit.ts');
  const log = open(dataPaths, { limits: NO_ROTATION });
  for (const event of events) log.record(event);
  return log.close();
}
