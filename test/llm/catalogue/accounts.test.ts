import { describe, expect, test } from 'vitest';
import {
  usableAccounts,
  type ConfiguredAccount,
  ollamaAccount,
} from '../../../src/llm/catalogue/accounts.ts';
import { minimalModel, type Model } from '../../../src/llm/catalogue/catalogue.ts';
import { type ModelChoiceInput, chooseModel } from '../../../src/llm/catalogue/choose-model.ts';
import { MODEL_TABLE } from '../../../src/llm/catalogue/model-table.ts';

const nothing: ModelChoiceInput = { env: {}, configured: [], models: MODEL_TABLE, ollamaModels: undefined };

const work: ConfiguredAccount = { name: 'work', vendor: 'openai', key: { env: 'WORK_KEY' } };
const home: ConfiguredAccount = { name: 'home', api: 'openai-chat', baseUrl: 'http://home:8000/v1' };

function knownModel(account: string, id: string): Model | undefined {
  return MODEL_TABLE.find((model) => model.account === account && model.id === id);
}

describe('usableAccounts', () => {
  test('puts anthropic, openai and google first, whatever the order of the variables', () => {
    const env = {
      GROQ_API_KEY: 'g',
      GOOGLE_API_KEY: 'k',
      MISTRAL_API_KEY: 'm',
      OPENAI_API_KEY: 'o',
      ANTHROPIC_API_KEY: 'a',
    };
    expect(usableAccounts(env, [])).toEqual([
      { name: 'anthropic', api: 'anthropic', baseUrl: 'https://api.anthropic.com', apiKey: 'a' },
      { name: 'openai', api: 'openai-responses', baseUrl: 'https://api.openai.com/v1', apiKey: 'o' },
      {
        name: 'google',
        api: 'gemini',
        baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
        apiKey: 'k',
      },
      {
        name: 'mistral',
        api: 'openai-chat',
        baseUrl: 'https://api.mistral.ai/v1',
        apiKey: 'm',
        omit: ['stream_options'],
      },
      { name: 'groq', api: 'openai-chat', baseUrl: 'https://api.groq.com/openai/v1', apiKey: 'g' },
    ]);
  });

  test('puts configured accounts first, and leaves out accounts without a key', () => {
    const env = { ANTHROPIC_API_KEY: 'a', WORK_KEY: 'w' };
    const missing: ConfiguredAccount = { name: 'groq', key: { env: 'NOT_SET' } };
    expect(usableAccounts(env, [work, missing, home])).toEqual([
      { name: 'work', api: 'openai-responses', baseUrl: 'https://api.openai.com/v1', apiKey: 'w' },
      { name: 'home', api: 'openai-chat', baseUrl: 'http://home:8000/v1' },
      { name: 'anthropic', api: 'anthropic', baseUrl: 'https://api.anthropic.com', apiKey: 'a' },
    ]);
  });

  test('takes the missing fields of a configured account from its vendor', () => {
    const configured: ConfiguredAccount[] = [
      { name: 'gemini', headers: { 'x-team': 'blue' } },
      { name: 'mistral', baseUrl: 'https://proxy.example/v1', omit: [] },
    ];
    expect(usableAccounts({ GEMINI_API_KEY: 'g', MISTRAL_API_KEY: 'm' }, configured)).toEqual([
      {
        name: 'gemini',
        api: 'gemini',
        baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
        apiKey: 'g',
        headers: { 'x-team': 'blue' },
      },
      {
        name: 'mistral',
        api: 'openai-chat',
        baseUrl: 'https://proxy.example/v1',
        apiKey: 'm',
        omit: [],
      },
      expect.objectContaining({ name: 'google' }),
    ]);
  });

  test('never sends a vendor’s key to an account with another name', () => {
    const elsewhere: ConfiguredAccount = {
      name: 'proxy',
      vendor: 'groq',
      baseUrl: 'https://proxy.example/v1',
    };
    expect(usableAccounts({ GROQ_API_KEY: 'g' }, [elsewhere])[0]).toEqual({
      name: 'proxy',
      api: 'openai-chat',
      baseUrl: 'https://proxy.example/v1',
    });
  });

  test('trims keys and ignores empty variables', () => {
    expect(usableAccounts({ GROQ_API_KEY: ' key\n', OPENAI_API_KEY: ' ', GEMINI_API_KEY: '' }, [])).toEqual([
      expect.objectContaining({ name: 'groq', apiKey: 'key' }),
    ]);
  });

  test.each(['one\ntwo', 'curly”quote', 'bell\u0007'])(
    'refuses a key with %j in it, and never shows it',
    (bad) => {
      expect(() => usableAccounts({ GROQ_API_KEY: bad }, [])).toThrow(
        expect.objectContaining({
          code: 'bad-request',
          message: 'the key in GROQ_API_KEY contains a line break or an unprintable character: copy it again',
        }),
      );
    },
  );

  test('takes a vendor’s base URL from its usual environment variable', () => {
    const env = {
      ANTHROPIC_API_KEY: 'a',
      ANTHROPIC_BASE_URL: 'https://gateway.example/anthropic/',
      OPENAI_API_KEY: 'o',
      OPENAI_BASE_URL: ' http://localhost:1234/v1 ',
    };
    expect(usableAccounts(env, []).map(({ baseUrl }) => baseUrl)).toEqual([
      'https://gateway.example/anthropic',
      'http://localhost:1234/v1',
    ]);
  });

  test.each(['localhost:1234', 'ftp://host', 'http://user:secret@host/v1', 'https://host/v1?x=1', 'what?'])(
    'refuses the base URL %s without repeating it',
    (url) => {
      expect(() => usableAccounts({ OPENAI_API_KEY: 'o', OPENAI_BASE_URL: url }, [])).toThrow(
        /^OPENAI_BASE_URL is not an http or https address: write it like https:\/\/api\.openai\.com\/v1$/,
      );
    },
  );
});

describe('ollamaAccount', () => {
  test.each([
    [undefined, 'http://127.0.0.1:11434'],
    ['', 'http://127.0.0.1:11434'],
    ['0.0.0.0', 'http://127.0.0.1:11434'],
    ['0.0.0.0:11434', 'http://127.0.0.1:11434'],
    [':8080', 'http://127.0.0.1:8080'],
    ['[::]:11434', 'http://[::1]:11434'],
    ['::1', 'http://[::1]:11434'],
    ['box', 'http://box:11434'],
    ['box:80', 'http://box:80'],
    ['box/ollama/', 'http://box:11434/ollama'],
    ['http://box', 'http://box'],
    ['http://box:8080/', 'http://box:8080'],
    ['http://0.0.0.0:1', 'http://127.0.0.1:1'],
    ['HTTPS://box', 'HTTPS://box'],
    ['ollama.com', 'https://ollama.com'],
    ['10.0.0.0:1', 'http://10.0.0.0:1'],
  ])('parses OLLAMA_HOST=%s like Ollama', (host, baseUrl) => {
    expect(ollamaAccount({ OLLAMA_HOST: host }, [])).toEqual({ name: 'ollama', api: 'ollama', baseUrl });
  });

  test('rejects an OLLAMA_HOST that is not an address', () => {
    expect(() => ollamaAccount({ OLLAMA_HOST: 'http://' }, [])).toThrow(
      'OLLAMA_HOST is not an http or https address: write it like http://127.0.0.1:11434',
    );
  });

  test('returns the configured account if there is one', () => {
    const configured = [{ name: 'ollama', baseUrl: 'http://box:11434' }];
    expect(ollamaAccount({ OLLAMA_HOST: 'elsewhere' }, configured).baseUrl).toBe('http://box:11434');
  });
});

describe('chooseModel without a reference', () => {
  test('returns undefined if there is no account', () => {
    expect(chooseModel(nothing)).toBeUndefined();
    expect(chooseModel({ ...nothing, ollamaModels: [] })).toBeUndefined();
    expect(chooseModel({ ...nothing, ollamaModels: ['nomic-embed-text:latest'] })).toBeUndefined();
  });

  test('chooses the default model of the first vendor with a key', () => {
    const env = { GROQ_API_KEY: 'g', GEMINI_API_KEY: 'k' };
    expect(chooseModel({ ...nothing, env, ollamaModels: ['llama3.2:latest'] })).toEqual({
      account: expect.objectContaining({ name: 'google', apiKey: 'k' }),
      model: knownModel('google', 'gemini-3.8-flash'),
    });
  });

  test('chooses the default model even if the table does not have it', () => {
    expect(chooseModel({ ...nothing, env: { GROQ_API_KEY: 'g' }, models: [] })?.model).toEqual(
      minimalModel('groq', 'openai/gpt-oss-120b'),
    );
  });

  test('prefers a configured account over those of the environment', () => {
    const env = { ANTHROPIC_API_KEY: 'a', WORK_KEY: 'w' };
    expect(chooseModel({ ...nothing, env, configured: [work] })).toEqual({
      account: expect.objectContaining({ name: 'work', apiKey: 'w' }),
      model: { ...knownModel('openai', 'gpt-6.1-sol'), account: 'work' },
    });
  });

  test('skips a configured account without a key or without models', () => {
    const env = { ANTHROPIC_API_KEY: 'a' };
    expect(chooseModel({ ...nothing, env, configured: [work, home] })?.account.name).toBe('anthropic');
  });

  test('chooses the first model in models.json of an account without a vendor', () => {
    const models = [minimalModel('home', 'first'), minimalModel('home', 'second')];
    expect(chooseModel({ ...nothing, configured: [home], models })).toEqual({
      account: { name: 'home', api: 'openai-chat', baseUrl: 'http://home:8000/v1' },
      model: models[0],
    });
  });

  test('chooses the latest model of a running Ollama if there is no key, with its entry in models.json', () => {
    const known: Model = { ...minimalModel('ollama', 'llama3.2'), contextWindow: 8192 };
    const ollamaModels = ['nomic-embed-text:latest', 'llama3.2:latest', 'qwen3:4b'];
    expect(chooseModel({ ...nothing, models: [known], ollamaModels })).toEqual({
      account: { name: 'ollama', api: 'ollama', baseUrl: 'http://127.0.0.1:11434' },
      model: known,
    });
    expect(chooseModel({ ...nothing, models: [known] })).toBeUndefined();
  });

  test('ignores an invalid variable of a vendor that it does not need', () => {
    const env = { ANTHROPIC_API_KEY: 'a', GROQ_API_KEY: 'one\ntwo', OPENAI_BASE_URL: 'nonsense' };
    expect(chooseModel({ ...nothing, env })?.account.name).toBe('anthropic');
  });
});

describe('chooseModel with a reference', () => {
  const env = { OPENROUTER_API_KEY: 'r', WORK_KEY: 'w' };
  const given: ModelChoiceInput = {
    ...nothing,
    env,
    configured: [work, home],
    ollamaModels: ['mistral:latest'],
  };

  test.each([
    ['openrouter/anthropic/claude-opus-5.5', 'openrouter', 'anthropic/claude-opus-5.5'],
    ['openrouter/openrouter/auto', 'openrouter', 'openrouter/auto'],
    [' openrouter ', 'openrouter', 'anthropic/claude-sonnet-5.5'],
    ['work/gpt-6-luna', 'work', 'gpt-6-luna'],
    ['work', 'work', 'gpt-6.1-sol'],
    ['home/whatever', 'home', 'whatever'],
    ['lmstudio/qwen3', 'lmstudio', 'qwen3'],
    ['ollama/llama3.2:1b', 'ollama', 'llama3.2:1b'],
    ['mistral', 'ollama', 'mistral'],
  ])('resolves %s', (reference, account, id) => {
    const choice = chooseModel({ ...given, reference });
    expect([choice?.account.name, choice?.model.account, choice?.model.id]).toEqual([account, account, id]);
  });

  test('uses the vendor’s models for an account of that vendor', () => {
    expect(chooseModel({ ...given, reference: 'work/gpt-6-luna' })?.model).toEqual({
      ...knownModel('openai', 'gpt-6-luna'),
      account: 'work',
    });
  });

  test.each([
    ['groq/x', 'no key for groq: set GROQ_API_KEY, or add it under accounts in my.yaml'],
    [
      'gemini',
      'no key for google: set GEMINI_API_KEY or GOOGLE_API_KEY, or add it under accounts in my.yaml',
    ],
    ['home', "home has no default model: write home/ and the model's id"],
    ['gpt-6-luna', '"gpt-6-luna" is served by several accounts: write work/gpt-6-luna or openai/gpt-6-luna'],
    ['wrok/x', /^no account is called "wrok": did you mean "work"\? There are work, home, anthropic, /],
    ['', 'no model is called "": write it as account/id'],
  ])('rejects %s with the next step', (reference, message) => {
    expect(() => chooseModel({ ...given, reference, configFile: 'my.yaml' })).toThrow(message);
  });

  test.each<[ConfiguredAccount, string]>([
    [work, 'no key for work: set WORK_KEY, which accounts.work in config.yaml names'],
    [{ name: 'groq' }, 'no key for groq: set GROQ_API_KEY, or add key_env to accounts.groq in config.yaml'],
    [
      { name: 'work', vendor: 'openai' },
      'no key for work: add key_env, key_file, key_command or key to accounts.work in config.yaml',
    ],
    [
      { name: 'work', vendor: 'openai', key: { unavailable: 'its file is gone' } },
      'no key for work: its file is gone',
    ],
    [
      { name: 'work', vendor: 'openai', key: { text: '\n', source: '/keys/work' } },
      'no key for work: /keys/work is empty',
    ],
    [
      { name: 'work', api: 'openai-chat' },
      'accounts.work in config.yaml is incomplete: give its vendor, or both wire and base_url',
    ],
  ])('names the problem of the configured account %o', (account, message) => {
    const reference = `${account.name}/x`;
    expect(() => chooseModel({ ...nothing, reference, configured: [account] })).toThrow(
      expect.objectContaining({ code: 'bad-request', message }),
    );
  });

  test('reports models in models.json whose account does not exist', () => {
    const models = [minimalModel('ghost', 'x')];
    expect(() => chooseModel({ ...nothing, reference: 'ghost/x', models })).toThrow(
      'there are models for "ghost" but no such account: add it under accounts in the configuration',
    );
  });

  test('trims a key from the configuration', () => {
    const account: ConfiguredAccount = { name: 'groq', key: { text: ' secret\n', source: 'a file' } };
    const choice = chooseModel({ ...nothing, reference: 'groq/x', configured: [account] });
    expect(choice?.account.apiKey).toBe('secret');
  });
});

describe('an account of Vertex AI', () => {
  const vertex: ConfiguredAccount = { name: 'vertex', project: 'my-project' };
  const addressFor = (more: Partial<ConfiguredAccount>, env = {}) =>
    usableAccounts(env, [{ ...vertex, ...more }])[0]?.baseUrl;

  test.each([
    ['global', 'aiplatform.googleapis.com'],
    ['europe-west4', 'europe-west4-aiplatform.googleapis.com'],
    ['us', 'aiplatform.us.rep.googleapis.com'],
    ['eu', 'aiplatform.eu.rep.googleapis.com'],
  ])('has the address of the location %s', (location, host) => {
    expect(addressFor({ location })).toBe(`https://${host}/v1/projects/my-project/locations/${location}`);
  });

  test('takes project and location from the variables of Google and of other agents', () => {
    const open = (env: Record<string, string>) => usableAccounts(env, [{ name: 'vertex' }])[0]?.baseUrl;
    expect(open({ GOOGLE_CLOUD_PROJECT: 'a', GOOGLE_CLOUD_LOCATION: 'us-east5' })).toBe(
      'https://us-east5-aiplatform.googleapis.com/v1/projects/a/locations/us-east5',
    );
    expect(open({ ANTHROPIC_VERTEX_PROJECT_ID: 'b', CLOUD_ML_REGION: 'global' })).toBe(
      'https://aiplatform.googleapis.com/v1/projects/b/locations/global',
    );
    expect(open({ GOOGLE_CLOUD_PROJECT: '../other' })).toBeUndefined();
  });

  test('is used by default only if the environment names a project and credentials', () => {
    const names = (env: Record<string, string>) => usableAccounts(env, []).map(({ name }) => name);
    expect(names({ GOOGLE_CLOUD_PROJECT: 'a' })).toEqual([]);
    expect(names({ GOOGLE_APPLICATION_CREDENTIALS: '/key.json' })).toEqual([]);
    expect(names({ GOOGLE_CLOUD_PROJECT: 'a', GOOGLE_APPLICATION_CREDENTIALS: '/key.json' })).toEqual([
      'vertex',
    ]);
  });

  test('sends no credentials of the environment to another address, unless it has the name of the vendor', () => {
    const baseUrl = 'https://gateway.example/v1';
    const [own] = usableAccounts({}, [{ name: 'vertex', baseUrl }]);
    const [other] = usableAccounts({}, [{ name: 'work', vendor: 'vertex', baseUrl }]);
    expect([own?.keySupply !== undefined, other?.keySupply]).toEqual([true, undefined]);
  });

  test.each([
    ['claude-opus-5-5', 'anthropic'],
    ['gemini-3.8-flash', 'gemini'],
  ])('serves %s by the API %s', (id, api) => {
    const chosen = chooseModel({ ...nothing, configured: [vertex], reference: `vertex/${id}` });
    expect(chosen?.account.api).toBe(api);
  });
});
