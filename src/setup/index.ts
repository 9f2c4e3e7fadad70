/** What this machine gives to Polypod: where its files are, what the user configured, which models and agents there are. */
import type { OfferedModel, OpenAgent } from '../pod/index.ts';
import type { AgentsOptions, ConfiguredAgentsOptions, SavedRule } from './agents/index.ts';
import type { Config, LoadedConfig } from './config/index.ts';
import type {
  KnownModels,
  ModelAccess,
  ModelAccessOptions,
  OfferOptions,
  ReadyModel,
} from './models/index.ts';
import type * as commandSafetyModule from './agents/command-safety.ts';
import type { CommandRecord } from '../tools/index.ts';
import type { DataPaths } from './paths/index.ts';

export {
  existingDirectory,
  controlSocket,
  daemonLock,
  daemonLogFile,
  type DataPaths,
  dataPathsFrom,
  hostSocket,
  hostSockets,
  keysFile,
} from './paths/index.ts';
export type { AgentsOptions, ConfiguredAgentsOptions, SavedRule } from './agents/index.ts';
export { AGENT_NAME, type Config, type LoadedConfig, DEFAULT_CONFIG, keyVariables } from './config/index.ts';
export { type Called, findSession, shortIds } from './find-session.ts';
export type { ModelAccess, ModelAccessOptions, KnownModels } from './models/index.ts';

// Start-up is a feature: all that follows is loaded when it is used, so that a list of sessions needs no provider.

export async function makeDataDirectory(dataPaths: DataPaths): Promise<void> {
  (await import('./paths/data-directory.ts')).makeDataDirectory(dataPaths);
}

/** The rules that people have made by answering "always". */
export async function readRules({ rulesFile }: DataPaths): Promise<readonly SavedRule[]> {
  return (await import('./agents/saved-rules.ts')).readRules(rulesFile);
}

/** Removes rules by their ids, all or none. */
export async function removeRules(
  { rulesFile }: DataPaths,
  ids: readonly string[],
): Promise<readonly SavedRule[]> {
  return (await import('./agents/saved-rules.ts')).removeRules(rulesFile, ids);
}

export async function readConfig(dataPaths: Pick<DataPaths, 'configFile' | 'home'>): Promise<LoadedConfig> {
  return (await import('./config/read-config.ts')).readConfig(dataPaths);
}

export async function modelAccess(options: ModelAccessOptions): Promise<ModelAccess> {
  return new (await import('./models/model-access.ts')).ModelAccess(options);
}

export async function readModels(
  dataPaths: Pick<DataPaths, 'modelsFile' | 'refreshedModelsFile'>,
): Promise<KnownModels> {
  return (await import('./models/model-files.ts')).readModels(dataPaths);
}

/** The models that a client may choose from. */
export async function offeredModels(options: OfferOptions): Promise<readonly OfferedModel[]> {
  return (await import('./models/offered-models.ts')).offeredModels(options);
}

/** A model as clients are shown it. */
export async function offeredModel(ready: ReadyModel): Promise<OfferedModel> {
  return (await import('./models/offered-models.ts')).offeredModel(ready);
}

/** The models of the catalogue for which there is an account. */
export async function knownModels(options: Omit<OfferOptions, 'access'>): Promise<readonly OfferedModel[]> {
  return (await import('./models/offered-models.ts')).knownModels(options);
}

export async function refuseUnknownProvider(
  provider: string,
  config: Pick<Config, 'accounts'>,
): Promise<void> {
  (await import('./models/offered-models.ts')).refuseUnknownProvider(provider, config);
}

export async function download(
  url: string,
  signal: AbortSignal,
  headers?: Readonly<Record<string, string>>,
): Promise<string> {
  return (await import('./models/download.ts')).download(url, signal, headers);
}

export async function configuredAgents(
  options: ConfiguredAgentsOptions,
): Promise<{ readonly agents: OpenAgent; readonly close: () => Promise<void> }> {
  return (await import('./agents/configured-agents.ts')).configuredAgents(options);
}

/** Agents as the user has configured them. */
export function agentsFrom(options: AgentsOptions): OpenAgent {
  return async (place) => (await import('./agents/agents.ts')).agentsFrom(options)(place);
}

/** How commands of agents are kept apart and limited on this machine. */
export async function loadCommandSafety(): Promise<typeof commandSafetyModule> {
  return import('./agents/command-safety.ts');
}

/** Ends the commands that a killed process left running. */
export async function endLeftCommands(dataPaths: DataPaths): Promise<readonly CommandRecord[]> {
  return (await import('./agents/running-commands.ts')).endLeftCommands(dataPaths);
}
