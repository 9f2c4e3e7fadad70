import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSim } from '../../../src/sim/index.ts';
import { hasTmux } from '../../terminal/tmux.ts';
import { has, newHome, shellIn, startIn, submit } from '../chat/chat-fixture.ts';
import { polypod, temporaryDirectory } from '../polypod.ts';

const KEY = 'sk-test-0123456789abcdefghij';

async function simWith(keys = [KEY]) {
  const sim = await startSim({ script: () => ({ parts: [{ text: 'ready' }] }), keys });
  onTestFinished(() => sim.close());
  return sim;
}

function home() {
  const directory = temporaryDirectory();
  const config = join(directory, '.config/polypod');
  return { HOME: directory, config };
}

/** A keyring for secrets, as libsecret provides it: `store` reads the secret from stdin. */
function withKeyring(directory: string): { readonly PATH: string } {
  const bin = join(directory, 'bin');
  mkdirSync(bin);
  const program = join(bin, 'secret-tool');
  writeFileSync(
    program,
    `#!/bin/sh
action=$1; for word; do name=$word; done
case $action in
  store) cat > "$HOME/ring-$name" ;;
  lookup) cat "$HOME/ring-$name" ;;
  clear) rm "$HOME/ring-$name" ;;
esac
`,
  );
  chmodSync(program, 0o755);
  return { PATH: `${bin}:${process.env.PATH}` };
}

describe('polypod accounts', () => {
  it('adds an account that works, with its key in a file that only its owner can read', async () => {
    const sim = await simWith();
    const { HOME, config } = home();
    mkdirSync(config, { recursive: true });
    writeFileSync(join(config, 'config.yaml'), '# mine\nversion: 1\nlog: { level: info } # quiet\n');
    const add = [
      'accounts',
      'add',
      'work',
      '--wire',
      'openai-chat',
      '--base-url',
      `${sim.url}/v1/`,
      '-m',
      'any',
    ];
    const added = await polypod(add, { env: { HOME }, input: `${KEY}\n` });
    expect({ code: added.code, stdout: added.stdout }).toEqual({
      code: 0,
      stdout: 'work works: polypod ask -m work/any "Hello"\n',
    });
    const text = readFileSync(join(config, 'config.yaml'), 'utf8');
    expect(text).toContain('# mine\nversion: 1\n');
    expect(text).toContain('# quiet');
    expect(text + added.stderr).not.toContain(KEY);
    expect(readFileSync(join(config, 'keys/work'), 'utf8')).toBe(`${KEY}\n`);
    expect(statSync(join(config, 'keys/work')).mode & 0o777).toBe(0o600);
    expect(statSync(join(config, 'keys')).mode & 0o777).toBe(0o700);
    expect(await polypod(['ask', '-m', 'work/any', 'Hi'], { env: { HOME } })).toMatchObject({
      code: 0,
      stdout: 'ready\n',
    });

    const listed = await polypod(['accounts', 'list', '--json'], { env: { HOME } });
    expect(JSON.parse(listed.stdout)).toEqual([
      { name: 'work', api: 'openai-chat', baseUrl: `${sim.url}/v1` },
    ]);
    expect(await polypod(add, { env: { HOME }, input: KEY })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('there is an account "work" already'),
    });
    expect(await polypod(['accounts', 'remove', 'work'], { env: { HOME } })).toMatchObject({ code: 0 });
    expect(existsSync(join(config, 'keys/work'))).toBe(false);
    expect(readFileSync(join(config, 'config.yaml'), 'utf8')).toBe(
      '# mine\nversion: 1\nlog: { level: info } # quiet\n',
    );
  });

  it('keeps a configuration file that is a link', async () => {
    const { HOME, config } = home();
    mkdirSync(config, { recursive: true });
    const real = join(HOME, 'settings.yaml');
    writeFileSync(real, '# mine\nversion: 1\n', { mode: 0o600 });
    symlinkSync(real, join(config, 'config.yaml'));
    const add = ['accounts', 'add', 'mistral', '--no-test'];
    expect(await polypod(add, { env: { HOME }, input: KEY })).toMatchObject({ code: 0 });
    expect(readlinkSync(join(config, 'config.yaml'))).toBe(real);
    expect(readFileSync(real, 'utf8')).toContain('key_file: keys/mistral');
  });

  it('stores the key in the system keyring where there is one', async () => {
    const sim = await simWith();
    const { HOME, config } = home();
    const env = { HOME, ...withKeyring(HOME) };
    const add = [
      'accounts',
      'add',
      'work',
      '--vendor',
      'azure',
      '--base-url',
      `${sim.url}/openai/v1`,
      '-m',
      'any',
    ];
    expect(await polypod(add, { env, input: KEY })).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('its key in the system keyring'),
    });
    expect(existsSync(join(config, 'keys'))).toBe(false);
    expect(readFileSync(join(config, 'config.yaml'), 'utf8')).toContain('key_keyring: true');
    expect(statSync(join(config, 'config.yaml')).mode & 0o777).toBe(0o600);
    const tested = await polypod(['accounts', 'test', 'work', '-m', 'any', '--json'], { env });
    expect(JSON.parse(tested.stdout)).toEqual({ account: 'work', model: 'any', ok: true });
    expect(sim.requests.at(-1)?.headers).toMatchObject({ 'api-key': KEY });
    expect(await polypod(['accounts', 'remove', 'work'], { env })).toMatchObject({ code: 0 });
    expect(existsSync(join(HOME, 'ring-work'))).toBe(false);
  });

  it('saves nothing if the provider rejects the key', async () => {
    const sim = await simWith(['another-key']);
    const { HOME, config } = home();
    const add = ['accounts', 'add', 'work', '--wire', 'anthropic', '--base-url', sim.url, '-m', 'any'];
    const { code, stderr } = await polypod(add, { env: { HOME }, input: KEY });
    expect(code).toBe(2);
    expect(stderr).toContain('check the key');
    expect(stderr).toContain('nothing was saved; --no-test saves an account without a test');
    expect(stderr).not.toContain(KEY);
    expect(existsSync(config)).toBe(false);
    const saved = await polypod([...add, '--no-test'], { env: { HOME }, input: KEY });
    expect(saved.code).toBe(0);
    const tested = await polypod(['accounts', 'test', 'work', '-m', 'any', '--json'], { env: { HOME } });
    expect(tested.code).toBe(2);
    expect(JSON.parse(tested.stdout)).toMatchObject({ ok: false, error: { kind: 'auth' } });
  });

  it('lists vendors with a key in the environment, and problems of configured accounts', async () => {
    const { HOME, config } = home();
    mkdirSync(config, { recursive: true });
    writeFileSync(join(config, 'config.yaml'), 'accounts: { work: { vendor: openai, key_env: MISSING } }\n');
    const { stdout } = await polypod(['accounts', 'list'], { env: { HOME, GROQ_API_KEY: KEY } });
    expect(stdout).toMatch(/^work +openai-responses +no key for work: set MISSING/m);
    expect(stdout).toMatch(/^groq +openai-chat +https:\/\/api\.groq\.com\/openai\/v1 +ready$/m);
    expect(stdout).not.toContain(KEY);
  });

  it.each([
    [['accounts'], 'the action must be list, add, test or remove'],
    [['accounts', 'remove'], 'remove needs the name of an account'],
    [['accounts', 'remove', 'x'], 'there is no account "x" in'],
    [
      ['accounts', 'add', 'x'],
      '"x" is not the name of a vendor: pass --vendor, or both --wire and --base-url',
    ],
    [['accounts', 'add', '../x', '--vendor', 'openai'], 'the name of an account has letters'],
    [['accounts', 'add'], 'the name is missing'],
    [['accounts', 'test', 'openai'], 'no key for openai: set OPENAI_API_KEY'],
    [['accounts', 'test', 'claude-opus-5-5'], 'there is no account "claude-opus-5-5": polypod accounts list'],
    [['accounts', 'test', 'vllm'], 'vllm has no default model: pass --model ID'],
    [['accounts', 'test', 'azure'], 'no key for azure: set AZURE_OPENAI_API_KEY'],
    [['accounts', 'list', 'openai'], 'polypod accounts list takes no name'],
  ])('reports %j with the next step', async (args, text) => {
    const { code, stderr } = await polypod(args);
    expect(code).toBe(2);
    expect(stderr).toContain(text);
  });
});

describe.runIf(hasTmux)('polypod accounts add on a real terminal', () => {
  it.each(['C-c', 'C-d'])('ends with %s at a question', async (key) => {
    const pane = await shellIn(newHome(), 100, 24);
    startIn(pane, 'accounts add mistral; echo "code $?"');
    await pane.see(has('Key of mistral (not shown):'));
    pane.press(key);
    await pane.see(has('polypod accounts: cancelled; nothing was saved'));
    await pane.see(has('code 130'));
  });

  it('asks for what is missing, hides the key, and ends with a tested account', async () => {
    const sim = await simWith();
    const user = newHome();
    const pane = await shellIn(user, 100, 24);
    startIn(pane, 'accounts add');
    await pane.see(has('Vendor [anthropic]:'));
    await submit(pane, 'azure');
    await pane.see(has('Address, such as https://RESOURCE.openai.azure.com/openai/v1:'));
    await submit(pane, `${sim.url}/openai/v1`);
    await pane.see(has('Key of azure (not shown):'));
    pane.type(KEY);
    pane.press('Enter');
    await pane.see(has('Model to test with:'));
    await submit(pane, 'my-deployment');
    await pane.see(has('azure works: polypod ask -m azure/my-deployment "Hello"'));
    expect(pane.all().join('')).not.toContain(KEY);
    expect(readFileSync(join(user.home, '.config/polypod/keys/azure'), 'utf8')).toBe(`${KEY}\n`);
  });
});
