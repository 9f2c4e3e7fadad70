import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseObject } from '../../../src/base/index.ts';
import { startSim } from '../../../src/sim/index.ts';
import { start, temporaryDirectory } from '../../cli/polypod.ts';
import { acpFixture, describeWithAndWithoutDaemon, Editor, shown, textAnswer } from './fixture.ts';

const SETUP = { methodId: 'setup' };
const accountRequired = { code: -32000, message: expect.stringContaining('polypod accounts add') as string };

/** A configuration with an account for a model that answers once. */
async function accountConfig(text: string): Promise<string> {
  const sim = await startSim({ script: [textAnswer(text)] });
  onTestFinished(() => sim.close());
  const accounts = { acme: { wire: 'anthropic', base_url: sim.url, key: 'any' } };
  return JSON.stringify({ model: 'acme/one', titles: 'off', accounts });
}

const MODELS = JSON.stringify([{ account: 'acme', id: 'one' }]);

describe.each([
  ['without a daemon', false],
  ['through a daemon', true],
])('an account that is set up while the editor runs, %s', (_, daemon) => {
  /** An editor without an account, and the files that the set-up writes. */
  async function withoutAccount() {
    const home = temporaryDirectory();
    const env = { HOME: home, POLYPOD_CONFIG: join(home, 'config.yaml') };
    writeFileSync(join(home, 'models.json'), MODELS);
    if (daemon) await start(['serve'], env).waitForOutput('ready');
    const editor = new Editor(env);
    await editor.initialize();
    return { home, editor, configFile: env.POLYPOD_CONFIG };
  }

  test('is used by the next session/new, also if the editor sends no authenticate', async () => {
    const { home, editor, configFile } = await withoutAccount();
    await expect(editor.newSession(home)).rejects.toMatchObject(accountRequired);
    writeFileSync(configFile, await accountConfig('Hello'), { mode: 0o600 });
    const { sessionId } = await editor.newSession(home);
    expect(await editor.prompt(sessionId, 'hi')).toBe('end_turn');
    expect(await editor.updateOf(sessionId, 'agent_message_chunk')).toMatchObject({
      content: { text: 'Hello' },
    });
  });

  test('is found by authenticate', async () => {
    const { home, editor, configFile } = await withoutAccount();
    await expect(editor.agent.request('authenticate', SETUP)).rejects.toMatchObject(accountRequired);
    writeFileSync(configFile, await accountConfig('Hello'), { mode: 0o600 });
    expect(await editor.agent.request('authenticate', SETUP)).toEqual({});
    const { sessionId } = await editor.newSession(home);
    expect(await editor.prompt(sessionId, 'hi')).toBe('end_turn');
  });

  test('is not found if the configuration is invalid: the error names the file', async () => {
    const { home, editor, configFile } = await withoutAccount();
    writeFileSync(configFile, 'accounts: [', { mode: 0o600 });
    const invalid = { code: -32603, message: expect.stringContaining(configFile) as string };
    await expect(editor.agent.request('authenticate', SETUP)).rejects.toMatchObject(invalid);
    await expect(editor.newSession(home)).rejects.toMatchObject(invalid);
  });
});

describeWithAndWithoutDaemon((openFixture) => {
  test('after a rejected key, the next prompt uses the account that replaced it', async () => {
    const { editor, cwd, env } = await openFixture([{ parts: [], fault: { kind: '401' } }]);
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    await expect(one.prompt(sessionId, 'hi')).rejects.toMatchObject({ code: -32000 });
    writeFileSync(env.POLYPOD_CONFIG ?? '', await accountConfig('With another key'), { mode: 0o600 });
    expect(await one.prompt(sessionId, 'again')).toBe('end_turn');
    expect(await one.updateOf(sessionId, 'agent_message_chunk')).toMatchObject({
      content: { text: 'With another key' },
    });
  });

  test('a file that was removed after a rejected key changes nothing', async () => {
    const { editor, cwd, env } = await openFixture(
      [{ parts: [], fault: { kind: '401' } }, textAnswer('Hello')],
      { config: { permissions: { mode: 'read-only' } } },
    );
    const one = await editor();
    const { sessionId } = await one.newSession(cwd);
    await expect(one.prompt(sessionId, 'hi')).rejects.toMatchObject({ code: -32000 });
    rmSync(env.POLYPOD_CONFIG ?? '');
    expect(await one.prompt(sessionId, 'again')).toBe('end_turn');
    const { modes } = await one.newSession(cwd);
    expect(modes).toMatchObject({ currentModeId: 'read-only' });
  });

  test('an account without a key is an account that is missing', async () => {
    const { editor, cwd, env } = await openFixture([]);
    const config = parseObject(readFileSync(env.POLYPOD_CONFIG ?? '', 'utf8')) ?? {};
    const accounts = { acme: { wire: 'anthropic', base_url: 'http://127.0.0.1:9', key_env: 'NO_SUCH_KEY' } };
    const one = await editor();
    writeFileSync(env.POLYPOD_CONFIG ?? '', JSON.stringify({ ...config, accounts }), { mode: 0o600 });
    const missing = { code: -32000, message: expect.stringContaining('NO_SUCH_KEY') as string };
    await expect(one.agent.request('authenticate', SETUP)).rejects.toMatchObject(missing);
    // The configuration that works is kept.
    await one.newSession(cwd);
  });

  test('an invalid models.json is an error that names the file, and no reason to sign in', async () => {
    const { editor, cwd, home } = await openFixture([textAnswer('Hello')]);
    const file = join(home, 'models.json');
    const valid = readFileSync(file, 'utf8');
    writeFileSync(file, '[{');
    const one = await editor();
    const invalid = {
      code: -32603,
      message: expect.stringMatching(/models\.json[^]*correct/i) as string,
      data: { details: expect.stringContaining(file) as string },
    };
    await expect(one.newSession(cwd)).rejects.toMatchObject(invalid);
    await expect(one.agent.request('authenticate', SETUP)).rejects.toMatchObject(invalid);
    writeFileSync(file, valid);
    const { sessionId } = await one.newSession(cwd);
    expect(await one.prompt(sessionId, 'hi')).toBe('end_turn');
  });
});

test('without the account of a loaded session, a prompt requires one, and the simulated model does not answer', async () => {
  const { editor, cwd, env, home } = await acpFixture([textAnswer('Hello'), textAnswer('Again')]);
  const config = readFileSync(env.POLYPOD_CONFIG ?? '', 'utf8');
  const one = await editor();
  const { sessionId } = await one.newSession(cwd);
  await one.prompt(sessionId, 'hi');
  await one.agent.request('session/close', { sessionId });
  const two = new Editor({ ...env, POLYPOD_CONFIG: join(home, 'empty.yaml') });
  await two.initialize();
  await two.agent.request('session/load', { sessionId, cwd, mcpServers: [] });
  await expect(two.prompt(sessionId, 'again')).rejects.toMatchObject(accountRequired);
  writeFileSync(join(home, 'empty.yaml'), config, { mode: 0o600 });
  expect(await two.prompt(sessionId, 'again')).toBe('end_turn');
  expect(shown(two.updates(sessionId)).at(-1)).toBe('agent_message: Again');
});
