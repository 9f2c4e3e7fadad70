import { describe, expect, it, onTestFinished } from 'vitest';
import type { TitleSource, WrittenTitle } from '../../src/pod/index.ts';
import { titleWriter } from '../../src/setup/agents/title-writer.ts';
import { dataPathsFrom, DEFAULT_CONFIG } from '../../src/setup/index.ts';
import { ModelAccess } from '../../src/setup/models/model-access.ts';
import { type Sim, startSim } from '../../src/sim/index.ts';
import { httpTransport, type Transport } from '../../src/wire/index.ts';
import { temporaryDirectory } from '../cli/polypod.ts';

const ABOUT: Omit<TitleSource, 'model'> = { prompt: 'Rename the parser', answer: 'Renamed it.' };

interface Written {
  readonly written: WrittenTitle | undefined;
  readonly failures: readonly string[];
  readonly sim: Sim;
}

/** Lets a writer of titles write one. The servers of all vendors are the simulator. */
async function write(
  reference: string,
  {
    settings = DEFAULT_CONFIG.titles,
    env = {},
    answer = 'Parser renamed',
  }: {
    readonly settings?: typeof DEFAULT_CONFIG.titles;
    readonly env?: Readonly<Record<string, string>>;
    readonly answer?: string;
  } = {},
): Promise<Written> {
  const sim = await startSim({ script: [{ parts: [{ text: answer }] }] });
  onTestFinished(() => sim.close());
  const transport: Transport = (request, watch) => {
    const { pathname, search } = new URL(request.url);
    return httpTransport({ ...request, url: `${sim.url}${pathname}${search}` }, watch);
  };
  const keys = { ANTHROPIC_API_KEY: 'a', OPENAI_API_KEY: 'b', GEMINI_API_KEY: 'c', GROQ_API_KEY: 'd' };
  const models = new ModelAccess({
    env: { ...keys, ...env },
    config: DEFAULT_CONFIG,
    dataPaths: dataPathsFrom({ HOME: temporaryDirectory() }),
    connect: { transport },
  });
  const failures: string[] = [];
  const writer = titleWriter({
    settings: () => settings,
    models: () => models,
    onFailure: (message) => failures.push(message),
  });
  const [provider = '', modelId = ''] = reference.split(/\/(.*)/);
  const written = await writer({ ...ABOUT, model: { provider, modelId } }, new AbortController().signal);
  return { written, failures, sim };
}

describe('the writer of titles', () => {
  it.each([
    ['anthropic/claude-opus-5-5', 'claude-haiku-5-5'],
    ['openai/gpt-6.1-sol', 'gpt-5.4-mini'],
    ['google/gemini-4-argon', 'gemini-3.5-flash-lite'],
  ])('asks a small model of the account: for %s %s', async (reference, small) => {
    const { written, failures, sim } = await write(reference);
    expect(failures).toEqual([]);
    expect(written?.title).toBe('Parser renamed');
    expect(written?.cost?.total).toBeGreaterThan(0);
    const [request] = sim.requests;
    expect(JSON.stringify([request?.path, request?.body])).toContain(small);
    expect(JSON.stringify(request?.body)).toContain('Rename the parser');
  });

  it('asks the configured model instead', async () => {
    const { written, sim } = await write('groq/openai/gpt-oss-120b', {
      settings: { source: 'model', model: 'anthropic/claude-haiku-4-5' },
    });
    expect(written?.title).toBe('Parser renamed');
    expect(sim.requests[0]?.body).toMatchObject({ model: 'claude-haiku-4-5' });
  });

  it.each([
    ['the vendor has no known small model', 'groq/openai/gpt-oss-120b', {}],
    [
      'the account has another address',
      'anthropic/claude-opus-5-5',
      { ANTHROPIC_BASE_URL: 'http://127.0.0.1:9' },
    ],
    ['the model is simulated', 'sim/offline', {}],
  ])('asks no model if %s', async (_, reference, env) => {
    const { written, failures, sim } = await write(reference, { env });
    expect([written, failures, sim.requests]).toEqual([undefined, [], []]);
  });

  it.each(['prompt', 'off'] as const)('asks no model if the source of titles is %s', async (source) => {
    const { written, sim } = await write('anthropic/claude-opus-5-5', { settings: { source } });
    expect([written, sim.requests]).toEqual([undefined, []]);
  });

  it('reports a failure and returns nothing', async () => {
    const { written, failures } = await write('anthropic/claude-opus-5-5', {
      settings: { source: 'model', model: 'nowhere/tiny' },
    });
    expect(written).toBeUndefined();
    expect(failures).toEqual([expect.stringContaining('nowhere')]);
  });

  it('returns the usage of an answer without a title', async () => {
    const { written } = await write('anthropic/claude-opus-5-5', { answer: '***' });
    expect(written?.title).toBeUndefined();
    expect(written?.usage).toBeDefined();
  });
});
