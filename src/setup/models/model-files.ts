import { readFile } from 'node:fs/promises';
import { messageOf, PolypodError, systemCodeOf } from '../../base/index.ts';
import { MODEL_TABLE, type Model, type ModelEntry, mergeModels, parseModels } from '../../llm/index.ts';
import type { DataPaths } from '../paths/data-paths.ts';

/** All known models, with warnings about their files. */
export interface KnownModels {
  readonly models: readonly Model[];
  readonly warnings: readonly string[];
}

/** Merges the built-in table, the refreshed models and the user's models.json; later sources win. */
export async function readModels({
  modelsFile,
  refreshedModelsFile,
}: Pick<DataPaths, 'modelsFile' | 'refreshedModelsFile'>): Promise<KnownModels> {
  const own = await readEntries(modelsFile);
  try {
    const refreshed = await readEntries(refreshedModelsFile);
    return { models: mergeModels(mergeModels(MODEL_TABLE, refreshed), own), warnings: [] };
  } catch (thrown) {
    // The refreshed file is generated, so a broken one is ignored with a warning.
    const [problem] = messageOf(thrown).split('\n');
    const warning = `the refreshed models are left out: ${problem}; run polypod models refresh`;
    return { models: mergeModels(MODEL_TABLE, own), warnings: [warning] };
  }
}

async function readEntries(file: string): Promise<readonly ModelEntry[]> {
  let content: string;
  try {
    content = await readFile(file, 'utf8');
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'ENOENT') return [];
    throw new PolypodError('bad-request', `cannot read the models: ${messageOf(thrown)}`, { cause: thrown });
  }
  return parseModels(content, file);
}
