import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Model,
  type ModelEntry,
  mergeModels,
  minimalModel,
  modelReference,
  resolveModel,
} from '../../../src/llm/catalogue/catalogue.ts';
import { costOf } from '../../../src/llm/catalogue/cost.ts';
import { MODEL_TABLE } from '../../../src/llm/catalogue/model-table.ts';
import { parseModelsDev } from '../../../src/llm/catalogue/models-dev.ts';
import { parseModels } from '../../../src/llm/catalogue/models-file.ts';
import { VENDORS, findVendor } from '../../../src/llm/catalogue/vendors.ts';

const small: Model = {
  account: 'groq',
  id: 'small',
  name: 'Small',
  contextWindow: 8000,
  reasoning: false,
  input: ['text'],
  price: { input: 1, output: 2, cacheRead: 0.5 },
};

function mistakesIn(content: unknown) {
  return () => parseModels(typeof content === 'string' ? content : JSON.stringify(content), 'models.json');
}

describe('the built-in table', () => {
  test('lists every model once', () => {
    const references = MODEL_TABLE.map(modelReference);
    expect(references).toEqual([...new Set(references)]);
  });

  test('lists only models of known vendors, each under the vendor’s own name', () => {
    expect(MODEL_TABLE.filter(({ account }) => findVendor(account)?.name !== account)).toEqual([]);
  });

  test('contains the default model of every vendor in the table', () => {
    const accounts = new Set(MODEL_TABLE.map(({ account }) => account));
    const references = new Set(MODEL_TABLE.map(modelReference));
    const unknown = VENDORS.filter(({ name }) => accounts.has(name)).filter(
      ({ name, defaultModel = '' }) => !references.has(`${name}/${defaultModel}`),
    );
    expect(unknown).toEqual([]);
  });

  test('contains the small models of vendors, which are not the most expensive ones', () => {
    for (const { name, smallModel } of VENDORS.filter((vendor) => vendor.smallModel !== undefined)) {
      const models = MODEL_TABLE.filter(({ account }) => account === name);
      const small = models.find(({ id }) => id === smallModel);
      expect(small?.price?.output).toBeLessThan(Math.max(...models.map(({ price }) => price?.output ?? 0)));
    }
  });

  test('is a valid models.json', () => {
    expect(parseModels(JSON.stringify(MODEL_TABLE), 'models.json')).toEqual(MODEL_TABLE);
  });

  test('has a higher price for long prompts in every tier', () => {
    const cheaper = MODEL_TABLE.filter(({ price }) =>
      price?.tiers?.some((tier) => tier.input <= price.input || tier.output <= price.output),
    );
    expect(cheaper).toEqual([]);
  });
});

describe('mergeModels', () => {
  test('merges an entry into the model field by field', () => {
    const merged = mergeModels([small], [{ account: 'groq', id: 'small', contextWindow: 16_000 }]);
    expect(merged).toEqual([{ ...small, contextWindow: 16_000 }]);
  });

  test('replaces a price as a whole, so that old and new rates are not mixed', () => {
    const entry: ModelEntry = { account: 'groq', id: 'small', price: { input: 3, output: 4 } };
    expect(mergeModels([small], [entry])).toEqual([{ ...small, price: { input: 3, output: 4 } }]);
  });

  test('adds an unknown model with minimal capabilities', () => {
    const entry: ModelEntry = { account: 'home', id: 'big', reasoning: true };
    expect(mergeModels([small], [entry])).toEqual([
      small,
      { account: 'home', id: 'big', name: 'big', reasoning: true, input: ['text'] },
    ]);
  });

  test('is idempotent', () => {
    const entry: fc.Arbitrary<ModelEntry> = fc.record(
      {
        account: fc.constantFrom('groq', 'home'),
        id: fc.constantFrom('small', 'big', 'a/b'),
        name: fc.string(),
        contextWindow: fc.nat(),
        reasoning: fc.boolean(),
        price: fc.record({ input: fc.nat(), output: fc.nat() }),
      },
      { requiredKeys: ['account', 'id'] },
    );
    fc.assert(
      fc.property(fc.array(entry), (entries) => {
        const once = mergeModels([small], entries);
        expect(mergeModels(once, entries)).toEqual(once);
      }),
    );
  });
});

describe('parseModels', () => {
  test('reads all fields', () => {
    const entries: ModelEntry[] = [
      { account: 'groq', id: 'small' },
      {
        account: 'home',
        id: 'a/b',
        name: 'A B',
        contextWindow: 1000,
        maxOutput: 100,
        reasoning: true,
        input: ['text', 'image'],
        price: { input: 1, output: 2, cacheRead: 0, tiers: [{ above: 500, input: 2, output: 4 }] },
      },
    ];
    expect(parseModels(JSON.stringify(entries), 'models.json')).toEqual(entries);
  });

  test('reports every problem with its entry, key and expected value', () => {
    const entries = [
      { account: 'groq' },
      'gpt',
      { account: 'groq', id: 'x', contextWindow: '200k', maxOutput: -1, reasoning: 'yes' },
      { account: 'a/b', id: ' ', contextwindow: 1, colour: 1 },
      { account: 'groq', id: 'y', input: ['text', 'imgae'], price: { input: 1, ouput: 2 } },
      { account: 'groq', id: 'z', price: { input: -1, output: 2, tiers: [{ input: 1, output: 1 }] } },
    ];
    expect(mistakesIn(entries)).toThrow(
      expect.objectContaining({
        code: 'bad-request',
        message: [
          'entry 1: "id" is missing',
          'entry 2: must be a map, not text',
          'entry 3: "contextWindow" must be a number of tokens, for example 200000, not text',
          'entry 3: "maxOutput" must be a number of tokens, for example 200000, not -1',
          'entry 3: "reasoning" must be true or false, not text',
          'entry 4: "account" must be the name of an account, without a slash',
          'entry 4: "id" must be text, not blank',
          'entry 4: "contextwindow" is not a key: did you mean "contextWindow"?',
          'entry 4: "colour" is not a key: there are account, id, name, contextWindow, maxOutput, reasoning, input, price',
          'entry 5: "input.1" must be one of text, image, not "imgae": did you mean "image"?',
          'entry 5: "price.output" is missing',
          'entry 5: "price.ouput" is not a key: did you mean "output"?',
          'entry 6: "price.input" must be a number of USD per million tokens, for example 2.5, not -1',
          'entry 6: "price.tiers.0.above" is missing',
        ]
          .map((line) => `models.json: ${line}`)
          .join('\n'),
      }),
    );
  });

  test('rejects a file with duplicate models', () => {
    const twice = [
      { account: 'groq', id: 'x' },
      { account: 'groq', id: 'x', reasoning: true },
    ];
    expect(mistakesIn(twice)).toThrow('models.json: entry 2: groq/x repeats entry 1: keep one');
  });

  test('rejects a file that is not a list or not JSON, with the next step', () => {
    expect(mistakesIn({})).toThrow('models.json: the file must be a list, not a map, for example [{');
    expect(mistakesIn('[{]')).toThrow(
      /^models\.json: not valid JSON \(.+\): correct it, or move the file away$/s,
    );
  });
});

describe('resolveModel', () => {
  const router: Model = { ...small, account: 'openrouter', id: 'anthropic/claude-x' };
  const models = [small, router, { ...small, account: 'home', id: 'twin' }, { ...small, id: 'twin' }];

  test.each([
    ['groq/small', small],
    ['small', small],
    ['openrouter/anthropic/claude-x', router],
    ['groq/newer', minimalModel('groq', 'newer')],
    ['openrouter/meta/llama', minimalModel('openrouter', 'meta/llama')],
    ['gemini/gemini-9', minimalModel('google', 'gemini-9')],
    ['work/any', minimalModel('work', 'any')],
    ['home/other', minimalModel('home', 'other')],
  ])('resolves %s', (reference, model) => {
    expect(resolveModel(models, reference, ['work'])).toEqual(model);
  });

  test.each([
    'claude-opus-5-5',
    'anthropic/claude-opus-5-5',
    'us.anthropic.claude-opus-5-5-v1:0',
    'anthropic.claude-opus-5-5-20260901-v1:0',
    'claude-opus-5-5@20260901',
  ])('gives %s of another account the limits of the same model, but not its price', (id) => {
    const listed = MODEL_TABLE.find((model) => model.id === 'claude-opus-5-5');
    const { price: _, ...known } = { price: undefined, ...listed };
    expect(resolveModel(MODEL_TABLE, `work/${id}`, ['work'])).toEqual({ ...known, account: 'work', id });
  });

  test('prefers a vendor’s name over a reseller’s id with the same prefix', () => {
    expect(resolveModel(models, 'anthropic/claude-x')).toEqual(minimalModel('anthropic', 'claude-x'));
  });

  test('prefers an id of the table over a vendor’s alias', () => {
    const qwen: Model = { ...small, account: 'openrouter', id: 'qwen/qwen-x' };
    expect(resolveModel([qwen], 'qwen/qwen-x')).toEqual(qwen);
  });

  test.each([
    ['twin', '"twin" is served by several accounts: write home/twin or groq/twin'],
    ['smal', 'no model is called "smal": did you mean groq/small?'],
    ['nothing-like-it', 'no model is called "nothing-like-it": write it as account/id'],
    [
      'antropic/x',
      /^no account is called "antropic": did you mean "anthropic"\? There are anthropic, openai, /,
    ],
    [
      'zzz/x',
      /^no account is called "zzz": there are .*, home\. Add it under accounts in the configuration$/,
    ],
    ['groq/', '"groq/" names no model: write the model\'s id after the slash'],
  ])('rejects %s with the next step', (reference, message) => {
    expect(() => resolveModel(models, reference)).toThrow(message);
  });
});

describe('costOf', () => {
  test('counts the cached parts of the prompt once, each at its own rate', () => {
    const price = { input: 4, output: 20, cacheRead: 0.2, cacheWrite: 5 };
    const usage = {
      inputTokens: 1_000_000,
      outputTokens: 100_000,
      cacheReadInputTokens: 500_000,
      cacheCreationInputTokens: 250_000,
    };
    expect(costOf({ price }, usage)).toEqual({
      input: 1,
      output: 2,
      cacheRead: 0.1,
      cacheWrite: 1.25,
      total: 4.35,
    });
  });

  test('uses the rates of the highest tier that the prompt exceeds', () => {
    const price = {
      input: 1,
      output: 1,
      tiers: [
        { above: 100, input: 10, output: 10 },
        { above: 200, input: 100, output: 100 },
      ],
    };
    const totals = [100, 101, 200, 201].map(
      (inputTokens) => costOf({ price }, { inputTokens, outputTokens: 0 })?.total,
    );
    expect(totals).toEqual([0.0001, 0.00101, 0.002, 0.0201]);
  });

  test.each([
    ['without a price', {}, { inputTokens: 1, outputTokens: 1 }],
    ['without input tokens', { price: { input: 1, output: 1 } }, { outputTokens: 1 }],
    ['without output tokens', { price: { input: 1, output: 1 } }, { inputTokens: 1 }],
    [
      'when cached tokens have no price',
      { price: { input: 1, output: 1 } },
      { inputTokens: 2, outputTokens: 1, cacheReadInputTokens: 1 },
    ],
  ])('is unknown, not 0, %s', (_, model, usage) => {
    expect(costOf(model, usage)).toBeUndefined();
  });

  test('is never negative and always the sum of its parts, for any usage', () => {
    const tokens = fc.option(fc.nat({ max: 2_000_000 }), { nil: undefined });
    const usages = fc
      .record({
        input: fc.nat({ max: 2_000_000 }),
        output: fc.nat({ max: 200_000 }),
        read: tokens,
        write: tokens,
      })
      .map(({ input, output, read, write }) => ({
        inputTokens: input,
        outputTokens: output,
        ...(read === undefined ? {} : { cacheReadInputTokens: read }),
        ...(write === undefined ? {} : { cacheCreationInputTokens: write }),
      }));
    fc.assert(
      fc.property(fc.constantFrom(...MODEL_TABLE), usages, (model, usage) => {
        const cost = costOf(model, usage);
        if (cost === undefined) return;
        const { input, output, cacheRead, cacheWrite, total } = cost;
        expect(Math.min(input, output, cacheRead, cacheWrite)).toBeGreaterThanOrEqual(0);
        expect(total).toBe(input + output + cacheRead + cacheWrite);
      }),
    );
  });
});

describe('parseModelsDev', () => {
  const model = {
    id: 'kimi-x',
    name: 'Kimi X',
    reasoning: true,
    tool_call: true,
    release_date: '2026-10-01',
    modalities: { input: ['text', 'image', 'video'], output: ['text'] },
    limit: { context: 1000, output: 100 },
    cost: {
      input: 1,
      output: 2,
      cache_read: 0.1,
      reasoning: 3,
      tiers: [
        { input: 2, output: 4, cache_read: 0.2, tier: { type: 'context', size: 500 } },
        { input: 9, output: 9, tier: { type: 'phase of the moon', size: 1 } },
      ],
    },
  };

  test('reads the models of known vendors, under our names', () => {
    const catalogue = {
      moonshotai: { id: 'moonshotai', env: ['MOONSHOT_API_KEY'], models: { 'kimi-x': model } },
      unheard: { models: { 'kimi-x': model } },
    };
    expect(parseModelsDev(catalogue)).toEqual([
      {
        account: 'moonshot',
        id: 'kimi-x',
        name: 'Kimi X',
        contextWindow: 1000,
        maxOutput: 100,
        reasoning: true,
        input: ['text', 'image'],
        price: {
          input: 1,
          output: 2,
          cacheRead: 0.1,
          tiers: [{ above: 500, input: 2, output: 4, cacheRead: 0.2 }],
        },
      },
    ]);
  });

  test('reads the models of Amazon Bedrock, with their own prices', () => {
    const id = 'us.anthropic.claude-x-v1:0';
    const [read] = parseModelsDev({ 'amazon-bedrock': { models: { [id]: { ...model, id } } } });
    expect(read).toMatchObject({
      account: 'bedrock',
      id,
      contextWindow: 1000,
      price: { input: 1, output: 2 },
    });
  });

  test('reads the older format for prices of long prompts', () => {
    const cost = { input: 1, output: 2, context_over_200k: { input: 2, output: 4 } };
    const [read] = parseModelsDev({ google: { models: { g: { ...model, cost } } } });
    expect(read?.price).toEqual({ input: 1, output: 2, tiers: [{ above: 200_000, input: 2, output: 4 }] });
  });

  test('leaves out unknown values instead of using 0', () => {
    const bare = { modalities: { output: ['text'] }, limit: { context: 0 }, cost: { input: 1 } };
    expect(parseModelsDev({ groq: { models: { bare } } })).toEqual([minimalModel('groq', 'bare')]);
  });

  test('leaves out deprecated models and models without text output', () => {
    const models = {
      old: { ...model, status: 'deprecated' },
      painter: { ...model, modalities: { input: ['text'], output: ['image'] } },
      odd: null,
    };
    expect(parseModelsDev({ openai: { models }, groq: null, xai: { models: [] } })).toEqual([]);
  });

  test('rejects anything that is not the models.dev catalogue', () => {
    expect(() => parseModelsDev('<html>')).toThrow('this is not the models.dev catalogue');
  });
});
