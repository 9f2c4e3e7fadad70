/** What a Polypod on this machine is made of: where its files are, what the user configured, what its agents work with. */
import type { OpenAgent } from '../pod/index.ts';
import type { AgentsOptions } from './agents.ts';
import type { Workbench, WorkbenchOptions } from './workbench.ts';

export type { AgentsOptions } from './agents.ts';
export { configuredAgents, type ConfiguredAgentsOptions } from './configured-agents.ts';
export { type Config, type LoadedConfig, keyVariables, readConfig } from './config.ts';
export { download } from './download.ts';
export { ModelAccess, type ModelAccessOptions } from './model-access.ts';
export { type KnownModels, readModels } from './model-files.ts';
export { type Places, placesFrom } from './places.ts';
export type { AskedAnswer, Workbench, WorkbenchOptions } from './workbench.ts';

/** Loaded when there is an agent to work with it: a question to a model needs no tools. */
export async function openWorkbench(options: WorkbenchOptions): Promise<Workbench> {
  return (await import('./workbench.ts')).openWorkbench(options);
}

/** Agents as the user has configured them; what they need is loaded with the first of them. */
export function agentsFrom(options: AgentsOptions): OpenAgent {
  return async (place) => (await import('./agents.ts')).agentsFrom(options)(place);
}
