import { readFile } from 'node:fs/promises';
import { messageOf, PolypodError, systemCodeOf } from '../../base/index.ts';
import { MODEL_TABLE, type Model, type ModelEntry, mergeModels, parseModels } from '../../llm/index.ts';
import type { DataPaths } from '../paths/data-paths.ts';

/** Every model that is known here, and what the user should hear about the files it comes from. */
export interface KnownModels {
  readonly models: readonly Model[];
  readonly warnings: readonly string[];
}

/** The built-in table, over it what was refreshed, over that the user's own models.json. */
export async function readModels({
  modelsFile,
  refreshedModelsFile,
}: Pick<DataPaths, 'modelsFile' | 'refreshedModelsFile'>): Promise<KnownModels> {
  const own = await entriesIn(modelsFile);
  try {
    const refreshed = await entriesIn(refreshedModelsFile);
    return { models: mergeModels(mergeModels(MODEL_TABLE, refreshed), own), warnings: [] };
  } catch (thrown) {
    // Nobody wrote that file by hand and it can be made again, so it may not stand in the way.
    const [mistake] = messageOf(thrown).split('\n');
    const warning = `the refreshed models are left out: ${mistake}; run polypod models refresh`;
    return { models: mergeModels(MODEL_TABLE, own), warnings: [warning] };
  }
}

async function entriesIn(file: string): Promise<readonly ModelEntry[]> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'ENOENT') return [];
    throw new PolypodError('bad-request', `cannot read the models: ${messageOf(thrown)}`, { cause: thrown });
  }
  return parseModels(content, file);
}
