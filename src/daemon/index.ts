/** What a Polypod on this machine is made of: where its files are, what the user configured, what its agents work with. */
import type { AuditEvent, AuditLimits, AuditLog } from '../audit/index.ts';
import { dirname } from 'node:path';
import type { Host, OpenAgent } from '../pod/index.ts';
import type { OfferedModel } from '../protocols/index.ts';
import type { AgentsOptions } from '../setup/agents/agents.ts';
import type { KeptRule } from '../setup/agents/saved-rules.ts';
import type { Config, LoadedConfig } from '../setup/config/config.ts';
import type { ConfiguredAgentsOptions } from '../setup/agents/configured-agents.ts';
import type { ControlLink } from './control/link.ts';
import type { PodHandle } from './control/remote-pod.ts';
import type { Daemon, DaemonOptions } from './daemon.ts';
import type { DoctorOptions, Finding } from './doctor/doctor.ts';
import type { FollowOptions } from './observe/follow-lines.ts';
import type { ModelAccess, ModelAccessOptions, ReadyModel } from '../setup/models/model-access.ts';
import type { KnownModels } from '../setup/models/model-files.ts';
import type { NewSession } from './sessions/new-session.ts';
import type { OfferOptions } from '../setup/models/offered-models.ts';
import { controlSocket, type Places } from '../setup/paths/data-paths.ts';
import type { GuardOptions } from './sockets/socket-guard.ts';
import type { AgentRecord } from './tasks/agent-files.ts';
import type { AgentOrder } from './tasks/read-agent-config.ts';
import type { AgentWish } from './tasks/tasks-place.ts';

export { directoryAt } from '../setup/paths/existing-directory.ts';
export type { AgentsOptions } from '../setup/agents/agents.ts';
export type { Config, LoadedConfig } from '../setup/config/config.ts';
export type { ConfiguredAgentsOptions } from '../setup/agents/configured-agents.ts';
export type { ControlLink } from './control/link.ts';
export type { PodHandle } from './control/remote-pod.ts';
export type { ApprovalNews } from './control/watch-approvals.ts';
export type { Daemon, DaemonOptions } from './daemon.ts';
export { DEFAULT_CONFIG } from '../setup/config/default-config.ts';
export type { DoctorOptions, Finding } from './doctor/doctor.ts';
export { type Called, findSession, shortIds } from '../setup/find-session.ts';
export type { DoorHealth, Health } from './observe/health.ts';
export type { FollowOptions } from './observe/follow-lines.ts';
export { keyVariables } from '../setup/config/key-variables.ts';
export type { ModelAccess, ModelAccessOptions } from '../setup/models/model-access.ts';
export type { KnownModels } from '../setup/models/model-files.ts';
export type { NewSession } from './sessions/new-session.ts';
export type { WaitingApproval } from './sessions/pending-approvals.ts';
export {
  controlSocket,
  daemonLock,
  daemonLogFile,
  type Places,
  placesFrom,
} from '../setup/paths/data-paths.ts';
export type { Reloaded } from '../setup/setup.ts';
export {
  AGENT_NAME,
  type AgentRecord,
  DEFAULT_AGENT,
  isKept,
  NO_AUTH_WARNING,
  readAgent,
  clientKeyFile,
  readAgents,
  readClientKey,
  keysFile,
} from './tasks/agent-files.ts';
export type { KeptRule } from '../setup/agents/saved-rules.ts';
export { keyEvent } from './tasks/key-event.ts';
export { refuseRevoked } from './tasks/refuse-revoked.ts';
export type { AgentOrder } from './tasks/read-agent-config.ts';

// Start-up is a feature: all that follows is loaded when it is used, so that a list of sessions needs no provider.

export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  return (await import('./daemon.ts')).startDaemon(options);
}

/** A link to the daemon of a data directory; undefined when none is up. */
export async function daemonLink(places: Places): Promise<ControlLink | undefined> {
  return (await import('./control/link.ts')).ControlLink.open(controlSocket(places));
}

export async function remotePod(id: string, link: ControlLink): Promise<PodHandle> {
  return (await import('./control/remote-pod.ts')).remotePod(id, link);
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

export async function makeDataDirectory(places: Places): Promise<void> {
  (await import('../setup/paths/data-directory.ts')).makeDataDirectory(places);
}

/** What an agent over HTTP is to be: as its own file says, or config.yaml. */
export async function readAgentWish(order: AgentOrder, places: Places): Promise<AgentWish> {
  const { readAgentConfig } = await import('./tasks/read-agent-config.ts');
  const { config } = await readConfig(places);
  const from = dirname(places.configFile);
  return readAgentConfig(order, { stated: config.daemon.tasks ?? {}, from, cwd: order.cwd });
}

/** Writes down where an agent is that runs elsewhere. */
export async function writeAgent(places: Places, record: AgentRecord): Promise<void> {
  (await import('./tasks/write-agent.ts')).writeAgent(places, record);
}

/** Keeps the key that this user's own commands send. */
export async function writeClientKey(places: Places, key: string): Promise<void> {
  (await import('./tasks/write-agent.ts')).writeClientKey(places, key);
}

export async function removeAgent(places: Places, name: string): Promise<void> {
  (await import('./tasks/write-agent.ts')).removeAgent(places, name);
}

/** From now on the agent does not come back with the next daemon. */
export async function forgetAgent(places: Places, name: string): Promise<void> {
  (await import('./tasks/kept-agents.ts')).forgetAgent(places, name);
}

/** Changes the keys while nobody else does. */
export async function changeKeys<T>(places: Places, change: (file: string) => T | Promise<T>): Promise<T> {
  return (await import('./tasks/key-file.ts')).changeKeys(places, change);
}

/** The audit log of a data directory, for a process that hosts pods. */
export async function openAudit(places: Places, limits: Partial<AuditLimits> | undefined): Promise<AuditLog> {
  return (await import('../setup/audit.ts')).openAudit(places, { limits });
}

/** Records what a command did, and waits until it is written; false if that is not possible now. */
export async function recordAudit(places: Places, events: readonly AuditEvent[]): Promise<boolean> {
  const { NO_ROTATION, openAudit: open } = await import('../setup/audit.ts');
  const log = open(places, { limits: NO_ROTATION });
  for (const event of events) log.record(event);
  return log.close();
}

/** The rules that people have made by answering "always". */
export async function readRules({ rulesFile }: Places): Promise<readonly KeptRule[]> {
  return (await import('../setup/agents/saved-rules.ts')).readRules(rulesFile);
}

/** Removes rules by their ids, all or none. */
export async function removeRules(
  { rulesFile }: Places,
  ids: readonly string[],
): Promise<readonly KeptRule[]> {
  return (await import('../setup/agents/saved-rules.ts')).removeRules(rulesFile, ids);
}

/** The lines of files as others write them. */
export async function* followLines(options: FollowOptions): AsyncGenerator<readonly string[]> {
  yield* (await import('./observe/follow-lines.ts')).followLines(options);
}

/** Looks at everything that may be wrong. */
export async function examine(options: DoctorOptions): Promise<readonly Finding[]> {
  return (await import('./doctor/doctor.ts')).examine(options);
}

export async function readConfig(places: Pick<Places, 'configFile' | 'home'>): Promise<LoadedConfig> {
  return (await import('../setup/config/config.ts')).readConfig(places);
}

export async function modelAccess(options: ModelAccessOptions): Promise<ModelAccess> {
  return new (await import('../setup/models/model-access.ts')).ModelAccess(options);
}

export async function readModels(
  places: Pick<Places, 'modelsFile' | 'refreshedModelsFile'>,
): Promise<KnownModels> {
  return (await import('../setup/models/model-files.ts')).readModels(places);
}

/** The models that a client may choose from. */
export async function offeredModels(options: OfferOptions): Promise<readonly OfferedModel[]> {
  return (await import('../setup/models/offered-models.ts')).offeredModels(options);
}

/** A model as clients are shown it. */
export async function offeredModel(ready: ReadyModel): Promise<OfferedModel> {
  return (await import('../setup/models/offered-models.ts')).offeredModel(ready);
}

/** The models of the catalogue for which there is an account. */
export async function knownModels(options: Omit<OfferOptions, 'access'>): Promise<readonly OfferedModel[]> {
  return (await import('../setup/models/offered-models.ts')).knownModels(options);
}

export async function refuseUnknownProvider(
  provider: string,
  config: Pick<Config, 'accounts'>,
): Promise<void> {
  (await import('../setup/models/offered-models.ts')).refuseUnknownProvider(provider, config);
}

export async function download(
  url: string,
  signal: AbortSignal,
  headers?: Readonly<Record<string, string>>,
): Promise<string> {
  return (await import('../setup/models/download.ts')).download(url, signal, headers);
}

export async function configuredAgents(
  options: ConfiguredAgentsOptions,
): Promise<{ readonly agents: OpenAgent; readonly close: () => Promise<void> }> {
  return (await import('../setup/agents/configured-agents.ts')).configuredAgents(options);
}

/** Agents as the user has configured them. */
export function agentsFrom(options: AgentsOptions): OpenAgent {
  return async (place) => (await import('../setup/agents/agents.ts')).agentsFrom(options)(place);
}

/** Sets who may connect to the sockets of this process, and records who was refused, until the result is called. */
export async function guardSockets(places: Places, options: GuardOptions): Promise<() => void> {
  return (await import('./sockets/socket-guard.ts')).guardSockets(places, options);
}
