import { describe, expect, test } from 'vitest';
import { parseObject, safeEnv } from '../../src/base/index.ts';
import { EVERYTHING, outputText, StoppedClock, scripted, mcpFixture, stdio } from './fixture.ts';

const NOTHING = { secret: [], pass: [] };

describe('the safe environment', () => {
  test.each([
    'ANTHROPIC_API_KEY',
    'OPENAI_API_KEY',
    'GEMINI_API_KEY',
    'openai_api_key',
    'OPENAI_APIKEY',
    'WORK_KEY',
    'GITHUB_TOKEN',
    'ANTHROPIC_AUTH_TOKEN',
    'AWS_SECRET_ACCESS_KEY',
    'AWS_SESSION_TOKEN',
    'CLIENT_SECRET_FILE',
    'PGPASSWORD',
    'POLYPOD_TOKEN',
    'POLYPOD_DATA_DIR',
  ])('has no %s', (name) => {
    expect(safeEnv({ [name]: 'value', PATH: '/bin' }, NOTHING)).toEqual({ PATH: '/bin' });
  });

  test.each([
    'PATH',
    'HOME',
    'LANG',
    'SSH_AUTH_SOCK',
    'KEYBOARD',
    'AWS_ACCESS_KEY_ID',
    'AWS_REGION',
    'MAX_OUTPUT_TOKENS',
    'TOKENIZERS_PARALLELISM',
    'GOOGLE_APPLICATION_CREDENTIALS',
    'http_proxy',
  ])('has %s', (name) => {
    expect(safeEnv({ [name]: 'value' }, NOTHING)).toEqual({ [name]: 'value' });
  });

  test('contains no well-known key under another name', () => {
    const env = { MINE: 'sk-ant-api03-abcdefghijklmnop', HOME: '/home/me' };
    expect(safeEnv(env, NOTHING)).toEqual({ HOME: '/home/me' });
  });

  test('contains no variable whose name suggests a key, unless it is passed by name', () => {
    const env = { OPENAI: 'x', GITHUB_TOKEN: 'y', GONE: undefined };
    expect(safeEnv(env, { secret: ['OPENAI'], pass: [] })).toEqual({});
    expect(safeEnv(env, { secret: ['OPENAI'], pass: ['OPENAI', 'GITHUB_TOKEN', 'GONE'] })).toEqual({
      OPENAI: 'x',
      GITHUB_TOKEN: 'y',
    });
  });
});

test('a started server gets the safe environment plus its configured variables', async () => {
  const everything = stdio([EVERYTHING], {
    name: 'everything',
    env: { LOG_LEVEL: 'debug', API_KEY: 'its-own' },
    passEnv: ['GITHUB_TOKEN'],
  });
  const env = {
    PATH: process.env.PATH,
    LANG: 'C',
    ANTHROPIC_API_KEY: 'secret-1',
    POLYPOD_KEY: 'secret-2',
    WORK: 'secret-3',
    GITHUB_TOKEN: 'passed-on',
    GITLAB_TOKEN: 'secret-4',
  };
  const { call } = mcpFixture([everything], {}, { env, secretEnv: ['WORK'] });
  const output = outputText(await call('mcp__everything__get-env'));
  expect(parseObject(output)).toEqual({
    PATH: process.env.PATH,
    LANG: 'C',
    GITHUB_TOKEN: 'passed-on',
    LOG_LEVEL: 'debug',
    API_KEY: 'its-own',
  });
});

test('the status of a server contains none of its secrets', async () => {
  const code = `console.error(process.env.API_KEY + ' and ' + process.env.GITHUB_TOKEN + ' are wrong'); process.exit(1);`;
  const spec = scripted(code, { env: { API_KEY: 'its-own-key' }, passEnv: ['GITHUB_TOKEN'] });
  const env = { PATH: process.env.PATH, GITHUB_TOKEN: 'passed-on' };
  const { servers } = mcpFixture([spec], { clock: new StoppedClock() }, { env });
  await servers.tools();
  expect(servers.status()).toMatchObject([
    { error: 'it ended with exit code 1; its last output was:\n[redacted] and [redacted] are wrong' },
  ]);
});

test("a server runs in the agent's directory or in its configured one", async () => {
  const code = `methods['tools/call'] = () => text(process.cwd());`;
  const { call } = mcpFixture(
    [scripted(code, { name: 'here' }), scripted(code, { name: 'there', cwd: '..' })],
    {},
    { cwd: import.meta.dirname },
  );
  expect(outputText(await call('mcp__here__echo'))).toBe(import.meta.dirname);
  expect(`${outputText(await call('mcp__there__echo'))}/mcp`).toBe(import.meta.dirname);
});
