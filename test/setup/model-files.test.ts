import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readModels } from '../../src/setup/index.ts';
import { MODEL_TABLE, mergeModels, type ModelEntry } from '../../src/llm/index.ts';
import { directoryWith } from '../daemon/directory.ts';

async function read(files: Readonly<Record<string, string>>) {
  const directory = await directoryWith(files);
  return readModels({
    modelsFile: join(directory, 'models.json'),
    refreshedModelsFile: join(directory, 'refreshed.json'),
  });
}

const refreshed: ModelEntry[] = [
  { account: 'groq', id: 'new', contextWindow: 1000, reasoning: true },
  { account: 'groq', id: 'newer' },
];
const own: ModelEntry[] = [{ account: 'groq', id: 'new', contextWindow: 2000 }];

test('without files, the models are those of the built-in table', async () => {
  expect(await read({})).toEqual({ models: MODEL_TABLE, warnings: [] });
});

test('the user’s models.json overrides the refreshed models, which override the table', async () => {
  expect(
    await read({ 'models.json': JSON.stringify(own), 'refreshed.json': JSON.stringify(refreshed) }),
  ).toEqual({
    models: [
      ...MODEL_TABLE,
      { account: 'groq', id: 'new', name: 'new', contextWindow: 2000, reasoning: true, input: ['text'] },
      { account: 'groq', id: 'newer', name: 'newer', reasoning: false, input: ['text'] },
    ],
    warnings: [],
  });
});

test('a broken refreshed file is ignored with a warning', async () => {
  const { models, warnings } = await read({ 'models.json': JSON.stringify(own), 'refreshed.json': '{"half' });
  expect(models).toEqual(mergeModels(MODEL_TABLE, own));
  expect(warnings).toEqual([
    expect.stringMatching(
      /^the refreshed models are left out: .*not valid JSON.*; run polypod models refresh$/,
    ),
  ]);
});

test('a problem in the user’s models.json is an error', async () => {
  await expect(read({ 'models.json': '[{"account":"groq","idd":"x"}]' })).rejects.toThrow(
    /models\.json: entry 1: "idd" is not a key: did you mean "id"\?$/,
  );
});
