import type { Environment } from '../llm/index.ts';
import type { Host } from '../pod/index.ts';
import type { Inventory } from '../protocols/index.ts';
import {
  findSession,
  offeredModel,
  offeredModels,
  promptFiles,
  refuseUnknownProvider,
} from '../setup/index.ts';
import type { DataPaths } from '../setup/paths/index.ts';
import type { Setup } from './setup.ts';

export interface InventoryOptions {
  readonly env: Environment;
  readonly dataPaths: DataPaths;
  readonly setup: Setup;
  readonly host: Host;
}

/** The inventory for doors. Evaluated on each call, because the configuration can be reloaded. */
export function inventoryOf({ env, dataPaths, setup, host }: InventoryOptions): Inventory {
  return {
    models: () => offeredModels({ env, dataPaths, config: setup.config, access: setup.models }),
    model: async (reference) => {
      const ready = await setup.models.choose(reference);
      return { model: await offeredModel(ready), notices: ready.notices };
    },
    refuseUnknownProvider: (name) => refuseUnknownProvider(name, setup.config),
    toolNames,
    promptFiles: (cwd) => promptFiles(cwd, dataPaths),
    streamRules: () => setup.config.streamRules.map((rule) => ({ ...rule, path: dataPaths.configFile })),
    session: async (word) => findSession(await host.sessions.list(), word),
  };
}

/** The built-in tools of agents. */
async function toolNames(): Promise<readonly string[]> {
  const { builtinTools } = await import('../tools/index.ts');
  return ['todo', 'web_fetch', 'web_search', 'skill', 'subagent', ...builtinTools.map(({ name }) => name)];
}
