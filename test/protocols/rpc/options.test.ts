import { writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryDirectory } from '../../cli/polypod.ts';
import { Program } from './program.ts';

interface Setup {
  readonly accounts?: object;
  readonly models?: readonly object[];
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
}

/** The built program in its own home directory, with a configuration. */
function program(
  args: readonly string[],
  { accounts = {}, models = [], files = {}, env = {} }: Setup = {},
): Program {
  const home = temporaryDirectory();
  const configFile = join(home, 'config.yaml');
  // JSON is YAML.
  writeFileSync(configFile, JSON.stringify({ accounts }), { mode: 0o600 });
  writeFileSync(join(home, 'models.json'), JSON.stringify(models));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(home, name), text);
  return new Program(args, { ...env, HOME: home, POLYPOD_CONFIG: configFile });
}

/** A provider that answers with one word, and stores the request headers. */
async function provider(): Promise<{
  readonly url: string;
  readonly receivedHeaders: IncomingHttpHeaders[];
}> {
  const receivedHeaders: IncomingHttpHeaders[] = [];
  const answer = [
    { type: 'message_start', message: { id: 'm', model: 'x', usage: { input_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Yes' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ];
  const server = createServer((request, response) => {
    receivedHeaders.push(request.headers);
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(answer.map((payload) => `data: ${JSON.stringify(payload)}\n\n`).join(''));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, receivedHeaders };
}

const OFFLINE = ['--model', 'sim/offline', '--no-session'];
const account = (key?: string) => ({
  wire: 'anthropic',
  base_url: 'http://127.0.0.1:9',
  ...(key && { key }),
});

describe('ready', () => {
  it.each([
    [
      'a model that nobody has',
      ['--model', 'mine/a:b:c', '--provider', 'nobody'],
      'Unknown provider "nobody"',
    ],
    ['an account without its key', ['--model', 'anthropic/claude-opus-5-5'], 'no key for anthropic'],
    ['a session that there is not', ['--model', 'sim/offline', '--resume', 'feedbeef'], 'feedbeef'],
    ['a file that is no session', ['--model', 'sim/offline', '--session', './config.yaml'], 'config.yaml'],
    [
      'a session directory that is a file',
      ['--model', 'sim/offline', '--session-dir', 'config.yaml'],
      'config.yaml',
    ],
    ['a key that belongs to no model', ['--api-key', 'k'], '--api-key needs a model'],
    ['a key for a model that nobody knows', ['--api-key', 'k', '--model', 'x'], 'the model "x" is unknown'],
  ])('is not sent if the start fails: %s', async (_, args, reason) => {
    const { code, stdout, stderr } = await program([...args]).finished;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(reason);
  });

  it('is not sent with an invalid configuration', async () => {
    const started = program(OFFLINE, { files: { 'config.yaml': 'accounts: [' } });
    const { code, stdout, stderr } = await started.finished;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('config.yaml');
  });

  it('is the first line, even if an extension sends something while it loads', async () => {
    const code = `export default ({ ui }) => ui.notify('here I am');`;
    const client = program([...OFFLINE, '-e', 'extension.mjs'], { files: { 'extension.mjs': code } });
    await client.waitFor(({ method }) => method === 'notify');
    expect(client.types.slice(0, 2)).toEqual(['ready', 'extension_ui_request']);
  });
});

describe('--system-prompt and --append-system-prompt', () => {
  const prompt = async (args: readonly string[], files: Readonly<Record<string, string>> = {}) =>
    String((await program([...OFFLINE, ...args], { files }).get('get_state')).systemPrompt);

  it('accept a text or a file, and the second can be repeated', async () => {
    const files = { 'be.md': 'Be brief.\n', 'own.md': 'You are a poet.' };
    const output = await prompt(
      [
        '--system-prompt',
        'own.md',
        '--append-system-prompt',
        './be.md',
        '--append-system-prompt',
        'Be kind.',
      ],
      files,
    );
    expect(output).toContain('You are a poet.');
    expect(output).toContain('Be brief.\n\n\nBe kind.');
    expect(output).not.toContain('be.md');
  });

  it.each(['Just a text', 'no-such-file.md', '.', 'a\nb'])(
    'treat a value that is not a file as text: %j',
    async (text) => {
      expect(await prompt(['--append-system-prompt', text])).toMatch(text);
    },
  );

  it('report a file that is too large', async () => {
    const home = temporaryDirectory();
    writeFileSync(join(home, 'large.md'), 'x'.repeat(2_000_000));
    const { code, stdout, stderr } = await new Program([...OFFLINE, '--system-prompt', 'large.md'], {
      HOME: home,
    }).finished;
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('the file of --system-prompt');
  });
});

describe('--api-key', () => {
  it.each([
    ['a configured account', ['--model', 'mine/x'], {}],
    ['a configured account that has a key', ['--provider', 'keyed', '--model', 'x'], {}],
    ['a vendor', ['--model', 'anthropic/claude-opus-5-5'], {}],
    ['the account of a model that is named by its id', ['--model', 'own-model'], {}],
    ['the account of a model that is named by a pattern', ['--models', '*own-mod*'], {}],
    ['the account of the default model', [], { POLYPOD_MODEL: 'mine/x' }],
  ])('works for %s', async (_, args, env) => {
    const { url, receivedHeaders } = await provider();
    const client = program([...args, '--api-key', 'sk-given', '--no-session'], {
      accounts: {
        mine: { wire: 'anthropic', base_url: url, key_env: 'NO_SUCH_VARIABLE' },
        keyed: { wire: 'anthropic', base_url: url, key: 'sk-other' },
      },
      models: [{ account: 'mine', id: 'own-model', name: 'Own' }],
      env: { ...env, ANTHROPIC_BASE_URL: url },
    });
    await client.run('hi');
    expect(receivedHeaders.map((headers) => headers['x-api-key'])).toEqual(['sk-given']);
    // Programs that the agent runs do not receive it.
    expect(String((await client.get('bash', { command: 'env' })).output)).not.toContain('sk-given');
    const { stderr } = await client.end();
    expect(stderr).toContain('other users of this machine can see a key on the command line');
    expect(stderr).not.toContain('sk-given');
  });
});

describe('--models', () => {
  const ids = ['one', 'two', 'three', 'other'];
  const setup = {
    accounts: { mine: account('k'), yours: account('k') },
    models: [
      ...ids.map((id) => ({ account: 'mine', id, name: id, reasoning: true })),
      { account: 'yours', id: 'one', name: 'Yours', reasoning: true },
    ],
  };

  it('accepts patterns with levels, starts with the first, and cycles in their order', async () => {
    const client = program(['--no-session', '--models', 'mine/t*:high,yours/*'], setup);
    const state = await client.get('get_state');
    expect(state).toMatchObject({ model: { provider: 'mine', id: 'two' }, thinkingLevel: 'high' });
    const cycled = [];
    for (let turn = 0; turn < 3; turn += 1) cycled.push(await client.get('cycle_model'));
    expect(cycled).toMatchObject([
      { model: { id: 'three' }, thinkingLevel: 'high', isScoped: true },
      { model: { provider: 'yours', id: 'one' }, isScoped: true },
      { model: { id: 'two' }, thinkingLevel: 'high', isScoped: true },
    ]);
    // All models stay available: the scope is only for cycling.
    const { models } = await client.get('get_available_models');
    expect(models).toHaveLength(5);
    expect(await client.ask('set_model', { provider: 'mine', modelId: 'other' })).toMatchObject({
      success: true,
    });
  });

  it('reports each pattern that matches nothing', async () => {
    const client = program(['--no-session', '--models', 'mine/one,nothing*'], setup);
    expect(await client.get('get_state')).toMatchObject({ model: { provider: 'mine', id: 'one' } });
    const { stderr } = await client.end();
    expect(stderr).toContain('no model matches "nothing*" in --models');
    expect(stderr).not.toContain('mine/one');
  });
});
