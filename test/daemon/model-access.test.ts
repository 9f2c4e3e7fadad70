import { expect, test } from 'vitest';
import {
  DEFAULT_CONFIG,
  modelAccess,
  type ModelAccessOptions,
  dataPathsFrom,
} from '../../src/setup/index.ts';
import { directoryWith } from './directory.ts';

const KEY = { ANTHROPIC_API_KEY: 'sk-test-0123456789abcdefghij' };

async function accessWith(env: Record<string, string>, more: Partial<ModelAccessOptions> = {}) {
  const home = await directoryWith({});
  // A port where nobody listens stands for "no Ollama".
  const all = { HOME: home, OLLAMA_HOST: 'http://127.0.0.1:9', ...env };
  return modelAccess({ env: all, config: DEFAULT_CONFIG, dataPaths: dataPathsFrom(all), ...more });
}

test.each(['opus', 'sonnet', 'haiku'])(
  '%s is the first such model of an account that can be used',
  async (word) => {
    const access = await accessWith(KEY);
    const named = await access.named(word);
    expect(named?.model).toMatchObject({
      account: 'anthropic',
      id: expect.stringContaining(`claude-${word}-`),
    });
  },
);

test('the account is whichever has a key, and serves such a model', async () => {
  const access = await accessWith({ OPENROUTER_API_KEY: 'sk-or-0123456789abcdefghij' });
  expect((await access.named('opus'))?.model).toMatchObject({
    account: 'openrouter',
    id: expect.stringContaining('opus'),
  });
});

test('a reference is a word too', async () => {
  const access = await accessWith(KEY);
  expect((await access.named('anthropic/some-model'))?.model).toMatchObject({
    account: 'anthropic',
    id: 'some-model',
  });
});

test('a word that names no model, or one without a key, names nothing', async () => {
  const access = await accessWith(KEY);
  expect(await access.named('no-such-model')).toBeUndefined();
  expect(await access.named('openai')).toBeUndefined();
  expect(await (await accessWith({})).named('opus')).toBeUndefined();
});

test('offline every word is the simulated model', async () => {
  const access = await accessWith(KEY, { offline: true });
  try {
    expect((await access.named('opus'))?.model).toMatchObject({ account: 'sim', id: 'offline' });
  } finally {
    await access.close();
  }
});
