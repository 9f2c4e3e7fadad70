import { describe, expect, test } from 'vitest';
import { accountsFrom, type ConfiguredAccount, ollamaAccount } from '../../../src/llm/catalogue/accounts.ts';
import { minimalModel, type Model } from '../../../src/llm/catalogue/catalogue.ts';
import { type Circumstances, chooseModel } from '../../../src/llm/catalogue/choose-model.ts';
import { MODEL_TABLE } from '../../../src/llm/catalogue/model-table.ts';

const nothing: Circumstances = { env: {}, configured: [], models: MODEL_TABLE, ollamaModels: undefined };

const work: ConfiguredAccount = { name: 'work', vendor: 'openai', key: { env: 'WORK_KEY' } };
const home: ConfiguredAccount = { name: 'home', wire: 'openai-chat', baseUrl: 'http://home:8000/v1' };

function knownModel(account: string, id: string): Model | undefined {
  return MODEL_TABLE.find((model) => model.account === account && model.id === id);
}

describe('accountsFrom', () => {
  test('puts anthropic, openai and google first, whatever the order of the variables', () => {
    const env = {
      GROQ_API_KEY: 'g',
      GOOGLE_API_KEY: 'k',
      MISTRAL_API_KEY: 'm',
      OPENAI_API_KEY: 'o',
      ANTHROPIC_API_KEY: 'a',
    };
    expect(accountsFrom(env, [])).toEqual([
      { name: 'anthropic', wire: 'anthropic', baseUrl: 'https://api.anthropic.com', apiKey: 'a' },
      { name: 'openai', wire: 'openai-responses', baseUrl: 'https://api.openai.com/v1', apiKey: 'o' },
      {
        name: 'google',
        wire: 'gemini',
        baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
        apiKey: 'k',
      },
      {
        name: 'mistral',
        wire: 'openai-chat',
        baseUrl: 'https://api.mistral.ai/v1',
        apiKey: 'm',
        omit: ['stream_options'],
      },
      { name: 'groq', wire: 'openai-chat', baseUrl: 'https://api.groq.com/openai/v1', apiKey: 'g' },
    ]);
  });

  test('puts configured accounts before all others, and leaves out those without their key', () => {
    const env = { ANTHROPIC_API_KEY: 'a', WORK_KEY: 'w' };
    const missing: ConfiguredAccount = { name: 'groq', key: { env: 'NOT_SET' } };
    expect(accountsFrom(env, [work, missing, home])).toEqual([
      { name: 'work', wire: 'openai-responses', baseUrl: 'https://api.openai.com/v1', apiKey: 'w' },
      { name: 'home', wire: 'openai-chat', baseUrl: 'http://home:8000/v1' },
      { name: 'anthropic', wire: 'anthropic', baseUrl: 'https://api.anthropic.com', apiKey: 'a' },
    ]);
  });

  test('lets a configured account keep from its vendor what it does not say itself', () => {
    const configured: ConfiguredAccount[] = [
      { name: 'gemini', headers: { 'x-team': 'blue' } },
      { name: 'mistral', baseUrl: 'https://proxy.example/v1', omit: [] },
    ];
    expect(accountsFrom({ GEMINI_API_KEY: 'g', MISTRAL_API_KEY: 'm' }, configured)).toEqual([
      {
        name: 'gemini',
        wire: 'gemini',
        baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
        apiKey: 'g',
        headers: { 'x-team': 'blue' },
      },
      {
        name: 'mistral',
        wire: 'openai-chat',
        baseUrl: 'https://proxy.example/v1',
        apiKey: 'm',
        omit: [],
      },
      expect.objectContaining({ name: 'google' }),
    ]);
  });

  test('sends a vendor’s key to no address that goes by another name', () => {
    const elsewhere: ConfiguredAccount = {
      name: 'proxy',
      vendor: 'groq',
      baseUrl: 'https://proxy.example/v1',
    };
    expect(accountsFrom({ GROQ_API_KEY: 'g' }, [elsewhere])[0]).toEqual({
      name: 'proxy',
      wire: 'openai-chat',
      baseUrl: 'https://proxy.example/v1',
    });
  });

  test('takes the blanks from around a key and an empty variable for none', () => {
    expect(accountsFrom({ GROQ_API_KEY: ' key\n', OPENAI_API_KEY: ' ', GEMINI_API_KEY: '' }, [])).toEqual([
      expect.objectContaining({ name: 'groq', apiKey: 'key' }),
    ]);
  });

  test.each(['one\ntwo', 'curly”quote', 'bell\u0007'])(
    'refuses a key with %j in it, and never shows it',
    (bad) => {
      expect(() => accountsFrom({ GROQ_API_KEY: bad }, [])).toThrow(
        expect.objectContaining({
          code: 'bad-request',
          message:
            'the key in GROQ_API_KEY has a line break or an unprintable character inside: copy it again',
        }),
      );
    },
  );

  test('reaches a vendor where its customary variable says', () => {
    const env = {
      ANTHROPIC_API_KEY: 'a',
      ANTHROPIC_BASE_URL: 'https://gateway.example/anthropic/',
      OPENAI_API_KEY: 'o',
      OPENAI_BASE_URL: ' http://localhost:1234/v1 ',
    };
    expect(accountsFrom(env, []).map(({ baseUrl }) => baseUrl)).toEqual([
      'https://gateway.example/anthropic',
      'http://localhost:1234/v1',
    ]);
  });

  test.each(['localhost:1234', 'ftp://host', 'http://user:secret@host/v1', 'https://host/v1?x=1', 'what?'])(
    'refuses the base URL %s without repeating it',
    (url) => {
      expect(() => accountsFrom({ OPENAI_API_KEY: 'o', OPENAI_BASE_URL: url }, [])).toThrow(
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
  ])('reads OLLAMA_HOST=%s as Ollama does', (host, baseUrl) => {
    expect(ollamaAccount({ OLLAMA_HOST: host }, [])).toEqual({ name: 'ollama', wire: 'ollama', baseUrl });
  });

  test('refuses an OLLAMA_HOST that is no address', () => {
    expect(() => ollamaAccount({ OLLAMA_HOST: 'http://' }, [])).toThrow(
      'OLLAMA_HOST is not an http or https address: write it like http://127.0.0.1:11434',
    );
  });

  test('is the configured one where there is one', () => {
    const configured = [{ name: 'ollama', baseUrl: 'http://box:11434' }];
    expect(ollamaAccount({ OLLAMA_HOST: 'elsewhere' }, configured).baseUrl).toBe('http://box:11434');
  });
});

describe('chooseModel without a reference', () => {
  test('finds nothing where there is nothing', () => {
    expect(chooseModel(nothing)).toBeUndefined();
    expect(chooseModel({ ...nothing, ollamaModels: [] })).toBeUndefined();
    expect(chooseModel({ ...nothing, ollamaModels: ['nomic-embed-text:latest'] })).toBeUndefined();
  });

  test('takes the default model of the best vendor with a key', () => {
    const env = { GROQ_API_KEY: 'g', GEMINI_API_KEY: 'k' };
    expect(chooseModel({ ...nothing, env, ollamaModels: ['llama3.2:latest'] })).toEqual({
      account: expect.objectContaining({ name: 'google', apiKey: 'k' }),
      model: knownModel('google', 'gemini-3.8-flash'),
    });
  });

  test('takes the default model as it is when the table has lost it', () => {
    expect(chooseModel({ ...nothing, env: { GROQ_API_KEY: 'g' }, models: [] })?.model).toEqual(
      minimalModel('groq', 'openai/gpt-oss-120b'),
    );
  });

  test('takes a configured account before those of the environment', () => {
    const env = { ANTHROPIC_API_KEY: 'a', WORK_KEY: 'w' };
    expect(chooseModel({ ...nothing, env, configured: [work] })).toEqual({
      account: expect.objectContaining({ name: 'work', apiKey: 'w' }),
      model: { ...knownModel('openai', 'gpt-6.1-sol'), account: 'work' },
    });
  });

  test('passes over a configured account that lacks its key or any model', () => {
    const env = { ANTHROPIC_API_KEY: 'a' };
    expect(chooseModel({ ...nothing, env, configured: [work, home] })?.account.name).toBe('anthropic');
  });

  test('takes the first model that models.json gives to an account without a vendor', () => {
    const models = [minimalModel('home', 'first'), minimalModel('home', 'second')];
    expect(chooseModel({ ...nothing, configured: [home], models })).toEqual({
      account: { name: 'home', wire: 'openai-chat', baseUrl: 'http://home:8000/v1' },
      model: models[0],
    });
  });

  test('takes the latest model of a running Ollama when there is no key, with what models.json knows of it', () => {
    const known: Model = { ...minimalModel('ollama', 'llama3.2'), contextWindow: 8192 };
    const ollamaModels = ['nomic-embed-text:latest', 'llama3.2:latest', 'qwen3:4b'];
    expect(chooseModel({ ...nothing, models: [known], ollamaModels })).toEqual({
      account: { name: 'ollama', wire: 'ollama', baseUrl: 'http://127.0.0.1:11434' },
      model: known,
    });
    expect(chooseModel({ ...nothing, models: [known] })).toBeUndefined();
  });

  test('is not stopped by a broken variable of a vendor that it does not need', () => {
    const env = { ANTHROPIC_API_KEY: 'a', GROQ_API_KEY: 'one\ntwo', OPENAI_BASE_URL: 'nonsense' };
    expect(chooseModel({ ...nothing, env })?.account.name).toBe('anthropic');
  });
});

describe('chooseModel with a reference', () => {
  const env = { OPENROUTER_API_KEY: 'r', WORK_KEY: 'w' };
  const given: Circumstances = {
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
  ])('goes for %s where it says', (reference, account, id) => {
    const choice = chooseModel({ ...given, reference });
    expect([choice?.account.name, choice?.model.account, choice?.model.id]).toEqual([account, account, id]);
  });

  test('gives an account with a vendor what is known of the vendor’s models', () => {
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
  ])('refuses %s in one sentence with the next step', (reference, message) => {
    expect(() => chooseModel({ ...given, reference, configFile: 'my.yaml' })).toThrow(message);
  });

  test.each<[ConfiguredAccount, string]>([
    [work, 'no key for work: set WORK_KEY, which accounts.work in config.yaml names'],
    [{ name: 'groq' }, 'no key for groq: set GROQ_API_KEY, or add key_env to accounts.groq in config.yaml'],
    [
      { name: 'work', vendor: 'openai' },
      'no key for work: add key_env, key_file or key to accounts.work in config.yaml',
    ],
    [
      { name: 'work', vendor: 'openai', key: { unavailable: 'its file is gone' } },
      'no key for work: its file is gone',
    ],
    [
      { name: 'work', vendor: 'openai', key: { text: '\n', place: '/keys/work' } },
      'no key for work: /keys/work is empty',
    ],
    [
      { name: 'work', wire: 'openai-chat' },
      'accounts.work in config.yaml is incomplete: give its vendor, or both wire and base_url',
    ],
  ])('says what the configured account %o lacks', (account, message) => {
    const reference = `${account.name}/x`;
    expect(() => chooseModel({ ...nothing, reference, configured: [account] })).toThrow(
      expect.objectContaining({ code: 'bad-request', message }),
    );
  });

  test('says so when models.json has models for an account that does not exist', () => {
    const models = [minimalModel('ghost', 'x')];
    expect(() => chooseModel({ ...nothing, reference: 'ghost/x', models })).toThrow(
      'there are models for "ghost" but no such account: add it under accounts in the configuration',
    );
  });

  test('reads a key that the configuration holds, without its blanks', () => {
    const account: ConfiguredAccount = { name: 'groq', key: { text: ' secret\n', place: 'a file' } };
    const choice = chooseModel({ ...nothing, reference: 'groq/x', configured: [account] });
    expect(choice?.account.apiKey).toBe('secret');
  });
});
