import { describe, expect, test } from 'vitest';
import { arrayOf, objectOf } from '../../../src/base/index.ts';
import { polypod, start, temporaryDirectory } from '../../cli/polypod.ts';
import { acpFixture, describeWithAndWithoutDaemon, Editor, textAnswer } from './fixture.ts';

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: 1,
    clientCapabilities: {
      fs: { readTextFile: true, writeTextFile: true },
      terminal: true,
      _meta: { 'terminal-auth': true },
    },
  },
};

test.each([1, 2, 99, 0])('a client that asks for version %d gets version 1', async (protocolVersion) => {
  const { env } = await acpFixture([]);
  const editor = new Editor(env);
  const result = await editor.agent.request('initialize', { protocolVersion });
  expect(result).toMatchObject({ protocolVersion: 1, agentInfo: { name: 'polypod' } });
});

test('a client of version 2 gets version 1, also with the parameters of version 2', async () => {
  const params = { protocolVersion: 2, info: { name: 'editor', version: '1' }, capabilities: {} };
  const input = `${JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })}\n`;
  const { stdout } = await polypod(['acp'], { input });
  const { result } = objectOf(JSON.parse(stdout));
  // Nothing of the draft: no `info` and no `capabilities`.
  expect(Object.keys(objectOf(result)).toSorted()).toEqual([
    'agentCapabilities',
    'agentInfo',
    'authMethods',
    'protocolVersion',
  ]);
  expect(result).toMatchObject({ protocolVersion: 1 });
});

test('the agent declares what it supports, and nothing of the draft', async () => {
  const { env } = await acpFixture([]);
  expect((await new Editor(env).initialize()).agentCapabilities).toEqual({
    loadSession: true,
    promptCapabilities: { image: true, audio: false, embeddedContext: true },
    mcpCapabilities: { http: true, sse: false },
    sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {}, additionalDirectories: {} },
  });
});

describe('an empty home directory', () => {
  test('initialize answers the check of the registry with one line and one method', async () => {
    const { stdout } = await polypod(['acp'], { input: `${JSON.stringify(INITIALIZE)}\n` });
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(1);
    const { result } = objectOf(JSON.parse(lines[0] ?? ''));
    const [method] = arrayOf(objectOf(result).authMethods).map(objectOf);
    expect(method).toMatchObject({ id: 'setup' });
    expect(method?.type).toBeUndefined();
    const { _meta: meta } = objectOf(method);
    expect(objectOf(meta)['terminal-auth']).toEqual({
      command: process.execPath,
      args: [expect.stringMatching(/main\.js$/), 'acp', '--setup'],
      label: 'Set up an account',
    });
  });

  test('a client that can open a terminal gets a method of the type terminal', async () => {
    const editor = new Editor({ HOME: temporaryDirectory() }, { capabilities: { auth: { terminal: true } } });
    expect(arrayOf((await editor.initialize()).authMethods)).toEqual([
      expect.objectContaining({ type: 'terminal', id: 'setup', args: ['--setup'] }),
    ]);
    // As Zed does: both conventions.
    const both = { auth: { terminal: true }, _meta: { 'terminal-auth': true } };
    const zed = new Editor({ HOME: temporaryDirectory() }, { capabilities: both });
    const [method] = arrayOf((await zed.initialize()).authMethods);
    expect(method).toMatchObject({
      type: 'terminal',
      _meta: { 'terminal-auth': { label: 'Set up an account' } },
    });
  });

  test.each(['without a daemon', 'through a daemon'])(
    'session/new and authenticate require an account, %s',
    async (how) => {
      const env = { HOME: temporaryDirectory() };
      if (how === 'through a daemon') await start(['serve'], env).waitForOutput('ready');
      const editor = new Editor(env);
      await editor.initialize();
      const refused = { code: -32000, message: expect.stringContaining('polypod accounts add') as string };
      await expect(editor.newSession(env.HOME)).rejects.toMatchObject(refused);
      await expect(editor.agent.request('authenticate', { methodId: 'setup' })).rejects.toMatchObject(
        refused,
      );
      await expect(editor.agent.request('authenticate', { methodId: 'other' })).rejects.toMatchObject({
        code: -32602,
        data: { field: 'methodId' },
      });
    },
  );

  test('--offline needs no account', async () => {
    const env = { HOME: temporaryDirectory() };
    const editor = new Editor(env, { args: ['--offline'] });
    await editor.initialize();
    expect(await editor.agent.request('authenticate', { methodId: 'setup' })).toEqual({});
    const { sessionId } = await editor.newSession(env.HOME);
    expect(await editor.prompt(sessionId, '[[sim text="Hello"]]')).toBe('end_turn');
  });
});

describeWithAndWithoutDaemon((openFixture) => {
  test('authenticate succeeds with an account', async () => {
    const { editor } = await openFixture([]);
    expect(await (await editor()).agent.request('authenticate', { methodId: 'setup' })).toEqual({});
  });

  test('no update arrives before the answer to session/new, and all of a turn before the answer to the prompt', async () => {
    const { editor, cwd } = await openFixture([textAnswer('Hello there')]);
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    expect(await one.prompt(sessionId, 'hi')).toBe('end_turn');
    const answer = one.log.received.findIndex(({ id }) => id === 1);
    expect(one.log.received.slice(0, answer).filter(({ method }) => method !== undefined)).toEqual([]);
    expect(one.log.received.at(-1)).toMatchObject({ id: 2, result: { stopReason: 'end_turn' } });
    await expect(one.end()).resolves.toMatchObject({ code: 0, stderr: '' });
  });
});
