import { expect, test } from 'vitest';
import {
  DEFAULT_CONFIG,
  modelAccess,
  type ModelAccessOptions,
  dataPathsFrom,
} from '../../src/setup/index.ts';
import { directoryWith } from '../daemon/directory.ts';

const KEY = { ANTHROPIC_API_KEY: 'sk-test-0123456789abcdefghij' };

async function accessWith(env: Record<string, string>, more: Partial<ModelAccessOptions> = {}) {
  const home = await directoryWith({});
  // A port without a listener simulates a missing Ollama.
  const all = { HOME: home, OLLAMA_HOST: 'http://127.0.0.1:9', ...env };
  return modelAccess({ env: all, config: DEFAULT_CONFIG, dataPaths: dataPathsFrom(all), ...more });
}

test.each(['opus', 'sonnet', 'haiku'])(
  '%s is the first such model of an account that can be used',
  async (word) => {
    const access = await accessWith(KEY);
    const named = await access.find(word);
    expect(named?.model).toMatchObject({
      account: 'anthropic',
      id: expect.stringContaining(`claude-${word}-`),
    });
  },
);

test('an alias uses any account with a key that serves such a model', async () => {
  const access = await accessWith({ OPENROUTER_API_KEY: 'sk-or-0123456789abcdefghij' });
  expect((await access.find('opus'))?.model).toMatchObject({
    account: 'openrouter',
    id: expect.stringContaining('opus'),
  });
});

test('a reference is accepted as well', async () => {
  const access = await accessWith(KEY);
  expect((await access.find('anthropic/some-model'))?.model).toMatchObject({
    account: 'anthropic',
    id: 'some-model',
  });
});

test('an unknown model, or one without a key, is undefined', async () => {
  const access = await accessWith(KEY);
  expect(await access.find('no-such-model')).toBeUndefined();
  expect(await access.find('openai')).toBeUndefined();
  expect(await (await accessWith({})).find('opus')).toBeUndefined();
});

test('offline, every name is the simulated model', async () => {
  const access = await accessWith(KEY, { offline: true });
  try {
    expect((await access.find('opus'))?.model).toMatchObject({ account: 'sim', id: 'offline' });
  } finally {
    await access.close();
  }
});
