/** What a Polypod on this machine is made of: where its files are, what the user configured, what its agents work with. */
import type { Workbench, WorkbenchOptions } from './workbench.ts';

export { type Config, type LoadedConfig, keyVariables, readConfig } from './config.ts';
export { type KnownModels, readModels } from './model-files.ts';
export { type Places, placesFrom } from './places.ts';
export type { AskedAnswer, Workbench, WorkbenchOptions } from './workbench.ts';

/** Loaded when there is an agent to work with it: a question to a model needs no tools. */
export async function openWorkbench(options: WorkbenchOptions): Promise<Workbench> {
  return (await import('./workbench.ts')).openWorkbench(options);
}
