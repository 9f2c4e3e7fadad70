/** The local setup: file paths, the user's configuration, and the available models and agents. */
import { dirname } from 'node:path';
import type { shape } from '../base/index.ts';
import type { OfferedModel, OpenAgent } from '../pod/index.ts';
import type { PromptFiles } from '../protocols/index.ts';
import type { AgentsOptions, ConfiguredAgentsOptions, SavedRule } from './agents/index.ts';
import { type Config, DEFAULT_CONFIG, type LoadedConfig } from './config/index.ts';
import type {
  KnownModels,
  ModelAccess,
  ModelAccessOptions,
  OfferedModelsOptions,
  ReadyModel,
} from './models/index.ts';
import type { DownloadOptions } from './models/download.ts';
import type { AccountTrial, TrialOptions } from './models/try-account.ts';
import type * as accountFileModule from './config/account-file.ts';
import type * as keyStoreModule from './config/key-store.ts';
import type * as commandSafetyModule from './agents/command-safety.ts';
import type * as inspectBackendsModule from './agents/inspect-backends.ts';
import type * as webToolsModule from './agents/web-tools.ts';
import type { CommandRecord } from '../tools/index.ts';
import type { CustomCommand } from './project/index.ts';
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
export type { InspectedBackend } from './agents/inspect-backends.ts';
export { AGENT_NAME, type Config, type LoadedConfig, DEFAULT_CONFIG, keyVariables } from './config/index.ts';
export type { CustomCommand } from './project/index.ts';
export { type SessionRef, findSession, shortIds } from './find-session.ts';
export type { ListedModel, ModelAccess, ModelAccessOptions, KnownModels } from './models/index.ts';
export type { AccountTrial } from './models/try-account.ts';

// The following modules are loaded on first use, to keep start-up fast: listing sessions needs no provider.

export async function makeDataDirectory(dataPaths: DataPaths): Promise<void> {
  (await import('./paths/data-directory.ts')).makeDataDirectory(dataPaths);
}

/** The rules that users created by answering "always". */
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

/** The prompts that the user and the project store in files `commands/NAME.md`. */
export async function customCommands(
  cwd: string,
  { configFile }: Pick<DataPaths, 'configFile'>,
): Promise<readonly CustomCommand[]> {
  return (await import('./project/index.ts')).customCommands(cwd, dirname(configFile));
}

/** The same prompts for clients that type them as `/NAME arguments`. */
export function promptFiles(cwd: string, dataPaths: Pick<DataPaths, 'configFile'>): PromptFiles {
  const list = () => customCommands(cwd, dataPaths);
  return {
    list,
    expand: async (text) => {
      const [, name, args = ''] = /^\/([a-z][\w-]*)(?:\s+([^]*))?$/i.exec(text.trim()) ?? [];
      if (name === undefined) return undefined;
      const command = (await list()).find((each) => each.name === name.toLowerCase());
      return command && expandCommand(command, args.trim());
    },
  };
}

/** The prompt of a custom command with its arguments. */
export async function expandCommand(command: CustomCommand, args: string): Promise<string> {
  return (await import('./project/index.ts')).expandCommand(command, args);
}

export { extendedAgent, keepOffStdout } from './agents/extended-agent.ts';

export async function readConfig(dataPaths: Pick<DataPaths, 'configFile' | 'home'>): Promise<LoadedConfig> {
  return (await import('./config/read-config.ts')).readConfig(dataPaths);
}

/** The settings of commands on a terminal; the defaults if the configuration is invalid, which is reported elsewhere. */
export async function terminalSettings(
  dataPaths: Pick<DataPaths, 'configFile' | 'home'>,
): Promise<Pick<Config, 'notify' | 'titles'>> {
  return readConfig(dataPaths).then(
    ({ config }) => config,
    () => DEFAULT_CONFIG,
  );
}

/** Parses and validates YAML or JSON. Throws one error with the line of every problem. */
export async function readYaml<T>(text: string, file: string, expected: shape.Shape<T>): Promise<T> {
  const { parseYaml, readShape } = await import('./config/yaml.ts');
  return readShape(parseYaml(text, file), expected);
}

/** The commented configuration that `polypod config init` writes. */
export async function configTemplate(): Promise<string> {
  return (await import('./config/config-template.ts')).CONFIG_TEMPLATE;
}

export async function modelAccess(options: ModelAccessOptions): Promise<ModelAccess> {
  return new (await import('./models/model-access.ts')).ModelAccess(options);
}

export async function readModels(
  dataPaths: Pick<DataPaths, 'modelsFile' | 'refreshedModelsFile'>,
): Promise<KnownModels> {
  return (await import('./models/model-files.ts')).readModels(dataPaths);
}

/** The models that a client can choose from. */
export async function offeredModels(options: OfferedModelsOptions): Promise<readonly OfferedModel[]> {
  return (await import('./models/offered-models.ts')).offeredModels(options);
}

/** A model as it is sent to clients. */
export async function offeredModel(ready: ReadyModel): Promise<OfferedModel> {
  return (await import('./models/offered-models.ts')).offeredModel(ready);
}

/** The models of the catalogue for which there is an account. */
export async function knownModels(
  options: Omit<OfferedModelsOptions, 'access'>,
): Promise<readonly OfferedModel[]> {
  return (await import('./models/offered-models.ts')).knownModels(options);
}

export async function refuseUnknownProvider(
  provider: string,
  config: Pick<Config, 'accounts'>,
): Promise<void> {
  (await import('./models/offered-models.ts')).refuseUnknownProvider(provider, config);
}

export async function download(url: string, options: DownloadOptions): Promise<string> {
  return (await import('./models/download.ts')).download(url, options);
}

/** Sends one short request to a model of an account. */
export async function tryAccount(options: TrialOptions): Promise<AccountTrial> {
  return (await import('./models/try-account.ts')).tryAccount(options);
}

/** Where keys of accounts are stored, and how accounts are written to the configuration file. */
export async function loadAccountFiles(): Promise<typeof accountFileModule & typeof keyStoreModule> {
  const [accountFile, keyStore] = await Promise.all([
    import('./config/account-file.ts'),
    import('./config/key-store.ts'),
  ]);
  return { ...accountFile, ...keyStore };
}

export async function configuredAgents(
  options: ConfiguredAgentsOptions,
): Promise<{ readonly agents: OpenAgent; readonly close: () => Promise<void> }> {
  return (await import('./agents/configured-agents.ts')).configuredAgents(options);
}

/** Agents as the user has configured them. */
export function agentsFrom(options: AgentsOptions): OpenAgent {
  return async (context) => (await import('./agents/agents.ts')).agentsFrom(options)(context);
}

/** How agents' commands are isolated and limited on this machine. */
export async function loadCommandSafety(): Promise<typeof commandSafetyModule> {
  return import('./agents/command-safety.ts');
}

/** Loads what describes other agents that can do the work of a session. */
export async function loadBackends(): Promise<typeof inspectBackendsModule> {
  return import('./agents/inspect-backends.ts');
}

/** Loads the tools that use the network. */
export async function loadWebTools(): Promise<typeof webToolsModule> {
  return import('./agents/web-tools.ts');
}

/** Ends the commands of killed processes. */
export async function endOrphanedCommands(dataPaths: DataPaths): Promise<readonly CommandRecord[]> {
  return (await import('./agents/running-commands.ts')).endOrphanedCommands(dataPaths);
}
