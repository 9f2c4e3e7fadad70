import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { objectOf, stringOf } from '../../../src/base/index.ts';
import { polypod, temporaryDirectory } from '../../cli/polypod.ts';
import { gist } from './gist.ts';
import { Program, programFixture } from './program.ts';

/** Longer than the maximum line. */
const GIANT = 65 * 1024 * 1024;

/** The lines in any bytes that are not blank. */
function splitAtLineEnds(bytes: Buffer): readonly Buffer[] {
  const ends = [...bytes.entries()].flatMap(([at, byte]) => (byte === 10 ? [at] : []));
  return [-1, ...ends]
    .map((end, at) => bytes.subarray(end + 1, ends[at]))
    .filter((line) => line.toString('utf8').trim() !== '');
}

/** Whether the run in a session file has ended. */
function isEnded(file: string): boolean {
  return existsSync(file) && readFileSync(file, 'utf8').includes('"customType":"polypod.run-end"');
}

/** Resolves when a process has been idle for a while. */
async function resting(pid: number): Promise<void> {
  const spent = () =>
    readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ').slice(11, 13).join();
  for (let [before, same] = [spent(), 0]; same < 10; ) {
    await sleep(20);
    const now = spent();
    same = now === before ? same + 1 : 0;
    before = now;
  }
}

describe('polypod --mode rpc', () => {
  it('sends ready first, and only JSON after it', async () => {
    const program = new Program();
    await program.get('get_state');
    expect(program.lines[0]).toEqual({
      type: 'ready',
      version: expect.stringMatching(/^\d+\.\d+\.\d+/) as unknown,
    });
    await program.run('hi [[sim text=Hello]]');
    expect(await program.get('get_last_assistant_text')).toEqual({ text: 'Hello' });
    const { code, stdout } = await program.end();
    expect(code).toBe(0);
    for (const line of stdout.trimEnd().split('\n')) expect(() => JSON.parse(line) as unknown).not.toThrow();
  });

  it('answers the commands before the end of its input', async () => {
    const { code, stdout } = await polypod(['--mode', 'rpc'], { input: '{"id":"s","type":"get_state"}' });
    expect(code).toBe(0);
    expect(stdout.split('\n')).toHaveLength(3);
    expect(stdout).toContain('"id":"s"');
  });

  it('exits with 0 when its input ends during a run', async () => {
    const program = new Program();
    program.send({ type: 'prompt', message: 'go [[sim deltas=5000 delay=5]]' });
    await program.waitFor(({ type }) => type === 'message_update');
    expect((await program.end()).code).toBe(0);
  });

  it('exits on a signal', async () => {
    const program = new Program();
    program.send({ type: 'prompt', message: `go [[sim tool=bash args='{"command":"sleep 60"}']]` });
    await program.waitFor(({ type }) => type === 'tool_execution_start');
    program.child.kill('SIGTERM');
    expect((await program.finished).code).toBe(0);
  });

  it('survives very long lines, invalid UTF-8, and an incomplete frame', async () => {
    const program = new Program(['--offline']);
    await program.get('get_state');
    const giant = Buffer.alloc(GIANT, 'x');
    const binary = Buffer.from(Array.from({ length: 100_000 }, (_, at) => (at * 7919 + (at >> 3)) & 0xff));
    const lines = [
      Buffer.from(`"${'x'.repeat(5_000_000)}`),
      Buffer.from(`{"type":"get_state","pad":"${'x'.repeat(1_000_000)}`),
      Buffer.from([0xff, 0xfe, 0xc3, 0x28]),
      giant,
      ...splitAtLineEnds(binary),
    ];
    const from = program.lines.length;
    for (const line of lines) program.write(Buffer.concat([line, Buffer.from('\n')]));
    expect(await program.ask('get_state')).toMatchObject({ success: true });
    const refused = program.lines.slice(from, -1);
    expect(refused).toHaveLength(lines.length);
    for (const { id, type, success, error } of refused)
      expect({ id, type, success, error }).toEqual({
        type: 'response',
        success: false,
        error: expect.stringMatching(/^(?:Failed to parse command|Unknown command): /) as unknown,
      });
    program.write('{"type":"get_st');
    expect((await program.end()).code).toBe(0);
  });

  it('buffers little for a host that stops reading, and loses nothing', async () => {
    const [deltas, size, asked] = [10_000, 20, 500];
    const { client } = await programFixture(
      [{ parts: [], pace: { deltas, chunkSize: size, batch: 50 } }],
      {},
      {
        // Less than the complete output.
        NODE_OPTIONS: '--max-old-space-size=64',
      },
    );
    const { sessionFile } = await client.get('get_state');
    client.child.stdout.pause();
    client.send({ type: 'prompt', message: 'write' });
    while (!isEnded(String(sessionFile))) await sleep(20);
    for (let count = 0; count < asked; count += 1) client.send({ type: 'get_messages' });
    client.send({ id: 'last', type: 'get_last_assistant_text' });
    await resting(client.child.pid ?? 0);
    client.child.stdout.resume();
    const { data } = await client.waitFor(({ id }) => id === 'last');
    await client.quiet();
    const text = stringOf(objectOf(data).text);
    expect(text.length).toBeGreaterThan(deltas * size * 0.9);
    expect(client.lines.filter(({ command }) => command === 'get_messages')).toHaveLength(asked);
    const received = client.lines
      .map((line) => objectOf(line.assistantMessageEvent))
      .filter(({ type }) => type === 'text_delta');
    expect(
      received
        .map(({ delta }) => delta)
        .join('')
        .trim(),
    ).toBe(text);
  });

  it('refuses files on its command line', async () => {
    expect(await polypod(['--mode', 'rpc', '@notes.md'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Error: @file arguments are not supported in RPC mode\n',
    });
  });

  it('refuses an unknown provider before ready', async () => {
    const { code, stdout, stderr } = await polypod(['--mode', 'rpc', '--provider', 'nobody', '--model', 'x']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^Unknown provider "nobody"\./);
  });

  it.each([
    ['--no-tool', 'unknown option --no-tool; did you mean --no-tools?'],
    ['-nx', 'unknown option -nx'],
    ['--some-option-of-tomorrow=1', 'unknown option --some-option-of-tomorrow'],
    ['--no-tools=yes', '--no-tools takes no value'],
    ['--tools', '--tools needs a value: A,B'],
    ['--skill x', '--skill cannot be used: put the skill into .polypod/skills of the project'],
    ['hello', '"hello" is not an option: messages are sent as a prompt command on stdin'],
  ])('refuses %s with exit code 2, before ready', async (line, message) => {
    const { code, stdout, stderr } = await polypod(['--mode', 'rpc', ...line.split(' ')]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/ \(see: polypod --mode rpc --help\)\n$/);
    expect(stderr.startsWith(message)).toBe(true);
  });

  it('prints a help text, and reports options that it cannot honour', async () => {
    const { code, stdout } = await polypod(['--mode', 'rpc', '--help']);
    expect(code).toBe(0);
    for (const option of ['-t', '-nt', '-nbt', '-nc', '--offline']) expect(stdout).toContain(option);
    const odd = await polypod(['--mode', 'rpc', '--no-session', '--thinking', 'much']);
    expect(odd).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('--thinking cannot be "much"') as unknown,
    });
  });

  it('accepts every option that hosts pass', async () => {
    const directory = temporaryDirectory();
    const words = [
      '--no-session --thinking high --provider-session-id i --tools read,bash --no-skills --no-rules --no-title',
      '--no-color --no-lsp --no-mcp --no-pty --no-extensions --no-themes --verbose --models sim/offline --offline',
    ];
    const program = new Program([
      ...words.join(' ').split(' '),
      ...[
        '--session-dir',
        directory,
        '--append-system-prompt',
        '- be nice',
        '--system-prompt',
        'You are a test.',
      ],
    ]);
    const state = await program.get('get_state');
    expect(state).not.toHaveProperty('sessionFile');
    await program.run('hi');
    expect(readdirSync(directory)).toEqual([]);
    expect(existsSync(join(program.home, '.local'))).toBe(false);
  });

  it('continues an earlier session', async () => {
    const home = temporaryDirectory();
    const directory = join(home, 'my sessions');
    const first = new Program(['--session-dir', directory], { HOME: home });
    await first.run('one [[sim text=first]]');
    const { sessionFile, sessionId } = await first.get('get_state');
    await first.end();
    const [name = ''] = readdirSync(directory);
    expect(name).toMatch(/^\d{4}-\d\d-\d\dT[\d-]+Z_.*\.jsonl$/);
    expect(join(directory, name)).toBe(sessionFile);
    for (const args of [
      ['--continue'],
      ['--resume', String(sessionFile)],
      ['--session', String(sessionId).slice(0, 20)],
    ]) {
      const again = new Program(args, { HOME: home });
      expect(await again.get('get_state')).toMatchObject({ sessionId, messageCount: 2 });
      await again.end();
    }
    const fork = new Program(['--fork', String(sessionId)], { HOME: home });
    const state = await fork.get('get_state');
    expect(state).toMatchObject({ messageCount: 2 });
    expect(state.sessionId).not.toBe(sessionId);
  });

  it('continues with the model of the session, unless another one is named', async () => {
    const { client, cwd, configFile } = await programFixture([{ parts: [{ text: 'ok' }] }]);
    await client.get('set_model', { provider: 'sim', modelId: 'other' });
    await client.run('one');
    const { sessionId } = await client.get('get_state');
    await client.end();
    const env = { HOME: cwd, POLYPOD_CONFIG: configFile, POLYPOD_MODEL: 'sim/sim' };
    const same = new Program(['--resume', String(sessionId)], env);
    expect(await same.get('get_state')).toMatchObject({ model: { id: 'other' }, messageCount: 2 });
    await same.end();
    const named = new Program(['--resume', String(sessionId), '--model', 'sim/sim'], env);
    expect(await named.get('get_state')).toMatchObject({ sessionId, model: { id: 'sim' }, messageCount: 2 });
  });

  it('runs tools in its directory without approval, unless --ask is set', async () => {
    const call = `[[sim tool=bash args='{"command":"touch made.txt"}']]`;
    const program = new Program();
    expect(gist(await program.run(call))).toContain('tool_execution_end bash');
    expect(existsSync(join(program.home, 'made.txt'))).toBe(true);
    const asking = new Program(['--ask']);
    asking.send({ type: 'prompt', message: call });
    const { id } = await asking.waitFor(({ type }) => type === 'extension_ui_request');
    expect(existsSync(join(asking.home, 'made.txt'))).toBe(false);
    asking.send({ type: 'extension_ui_response', id, value: 'Deny' });
    await asking.quiet();
    expect(existsSync(join(asking.home, 'made.txt'))).toBe(false);
  });
});

describe('a session in RPC mode', () => {
  it('is available at other doors at the same time', async () => {
    const runtime = temporaryDirectory();
    const program = new Program(['--offline'], { XDG_RUNTIME_DIR: runtime });
    const { sessionId } = await program.get('get_state');
    const path = join(runtime, 'polypod', 'pods', `${String(sessionId)}.sock`);
    const socket = await connected(path);
    onTestFinished(() => void socket.destroy());
    let output = '';
    const finished = new Promise<void>((resolve) => {
      socket.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (output.includes('"state":"idle"')) resolve();
      });
    });
    await program.run('[[sim text=everywhere]]');
    await finished;
    expect(output).toContain('"event":"text_done","data":{"text":"everywhere"}');
    socket.write('{"method":"run","params":{"input":"from there [[sim text=back]]"}}\n');
    await program.waitFor(
      ({ type, message }) => type === 'message_end' && JSON.stringify(message).includes('back'),
    );
  });
});

/** The socket is created shortly after `ready`. */
async function connected(path: string): Promise<Socket> {
  for (;;) {
    const socket = connect(path);
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    if (isOpen) return socket;
  }
}

describe('a rule of the configuration', () => {
  const RULES = `
stream_rules:
  - name: no-any
    content: Never write any.
    condition: [':\\s*any\\b']
`;

  it.each([
    [[], 1],
    [['--no-rules'], 0],
  ])('stops the answer that violates it, with %j', async (args, times) => {
    const home = temporaryDirectory();
    writeFileSync(join(home, 'config.yaml'), RULES);
    const program = new Program(['--offline', ...args], {
      HOME: home,
      POLYPOD_CONFIG: join(home, 'config.yaml'),
    });
    const lines = await program.run(`[[sim text='let x: any = 1']]`);
    const cuts = lines.filter(({ type }) => type === 'ttsr_triggered');
    expect(cuts).toHaveLength(times);
    for (const { rules } of cuts)
      expect(rules).toEqual([
        {
          name: 'no-any',
          path: join(home, 'config.yaml'),
          content: 'Never write any.',
          condition: [':\\s*any\\b'],
        },
      ]);
  });
});

describe('an extension given with -e', () => {
  const CODE = `
    export default function (polypod) {
      polypod.registerTool({
        name: 'shout',
        description: 'Says it louder.',
        parameters: { type: 'object', properties: { text: { type: 'string' } } },
        run: ({ text }, { update }) => { update('…'); return { text: text.toUpperCase(), details: { loud: true } }; },
      });
      polypod.registerCommand('name', {
        description: 'Asks for a name.',
        handler: async () => polypod.ui.notify('Hello ' + (await polypod.ui.input('Name?', 'yours'))),
      });
      polypod.registerCommand('fail', { handler: () => { throw new Error('boom'); } });
      polypod.registerCommand('quit', { handler: () => polypod.shutdown() });
      polypod.registerCommand('key', { handler: () => polypod.ui.notify(String(process.env.ANTHROPIC_API_KEY)) });
      polypod.on('tool_call', ({ name, input }) => name === 'bash' && input.command.includes('rm') ? { deny: 'no rm here' } : undefined);
      polypod.on('session_before_switch', async () => ({ cancel: !(await polypod.ui.confirm('Leave?', 'Really?', { timeout: 60000 })) }));
      polypod.ui.setTitle('never seen');
    }`;

  function extended(env: Readonly<Record<string, string>> = {}): Program {
    const file = join(temporaryDirectory(), 'extension.mjs');
    writeFileSync(file, CODE);
    return new Program(['--offline', '-e', file], env);
  }

  it('adds a tool, which runs without approval', async () => {
    const program = extended();
    const lines = await program.run(`[[sim tool=shout args='{"text":"hi"}']]`);
    expect(lines.find(({ type }) => type === 'tool_execution_end')).toMatchObject({
      toolName: 'shout',
      result: { content: [{ type: 'text', text: 'HI' }], details: { loud: true } },
      isError: false,
    });
  });

  it('adds commands, and its failures are reported', async () => {
    const program = extended();
    expect(await program.get('prompt', { message: '/name' })).toEqual({ disposition: 'handled' });
    const request = await program.waitFor(({ method }) => method === 'input');
    expect(program.lines.indexOf(request)).toBeLessThan(program.lines.findIndex(({ id }) => id === 'q1'));
    program.send({ type: 'extension_ui_response', id: request.id, value: 'Ada' });
    expect(await program.waitFor(({ method }) => method === 'notify')).toMatchObject({
      message: 'Hello Ada',
    });
    await program.ask('prompt', { message: '/fail' });
    expect(await program.waitFor(({ type }) => type === 'extension_error')).toEqual({
      type: 'extension_error',
      extensionPath: 'command:fail',
      event: 'command',
      error: 'boom',
    });
    const { commands } = await program.get('get_commands');
    expect((commands as { name: string }[]).map(({ name }) => name)).toEqual(['name', 'fail', 'quit', 'key']);
    expect(program.lines.some(({ method }) => method === 'setTitle')).toBe(false);
  });

  it('can block calls and session changes', async () => {
    const program = extended();
    const lines = await program.run(`[[sim tool=bash args='{"command":"rm x"}']]`);
    expect(lines.find(({ type }) => type === 'tool_execution_end')).toMatchObject({
      result: { content: [{ type: 'text', text: 'no rm here' }] },
      isError: true,
    });
    program.send({ id: 'n', type: 'new_session' });
    const { id } = await program.waitFor(({ method }) => method === 'confirm');
    program.send({ type: 'extension_ui_response', id, confirmed: false });
    expect(await program.waitFor((line) => line.id === 'n')).toMatchObject({ data: { cancelled: true } });
  });

  it('receives no keys of providers', async () => {
    const program = extended({ ANTHROPIC_API_KEY: 'sk-ant-secret' });
    await program.ask('prompt', { message: '/key' });
    expect(await program.waitFor(({ method }) => method === 'notify')).toMatchObject({
      message: 'undefined',
    });
  });

  it('can end the program after the response', async () => {
    const program = extended({ PI_RPC_EMIT_TITLE: 'yes' });
    expect(await program.ask('prompt', { message: '/quit' })).toMatchObject({ success: true });
    expect((await program.finished).code).toBe(0);
    expect(program.lines.find(({ method }) => method === 'setTitle')).toMatchObject({ title: 'never seen' });
  });

  it('removes no account from the list of models', async () => {
    const keys = { ANTHROPIC_API_KEY: 'one', OPENAI_API_KEY: 'two', GROQ_API_KEY: 'three' };
    const home = temporaryDirectory();
    const config = join(home, 'config.yaml');
    const accounts = {
      work: { wire: 'openai-chat', base_url: 'http://127.0.0.1:9/v1', key_env: 'WORK_KEY' },
    };
    writeFileSync(config, JSON.stringify({ accounts }), { mode: 0o600 });
    writeFileSync(join(home, 'models.json'), JSON.stringify([{ account: 'work', id: 'm', name: 'M' }]));
    writeFileSync(join(home, 'extension.mjs'), 'export default () => {};');
    const env = { ...keys, WORK_KEY: 'four', HOME: home, POLYPOD_CONFIG: config };
    const lists = [[], ['-e', 'extension.mjs']].map(async (args) => {
      const program = new Program(['--no-session', ...args], env);
      const before = await program.get('get_available_models');
      expect(await program.get('set_model', { provider: 'work', modelId: 'm' })).toMatchObject({ id: 'm' });
      expect(await program.get('get_available_models')).toEqual(before);
      return (before.models as { provider: string }[]).map(({ provider }) => provider);
    });
    const [without, withExtension] = await Promise.all(lists);
    expect(withExtension).toEqual(without);
    expect(new Set(withExtension)).toEqual(new Set(['anthropic', 'openai', 'groq', 'work']));
  });

  it('that cannot be loaded is reported, and the program continues', async () => {
    const program = new Program(['--offline', '-e', 'no-such-file.js']);
    const failed = await program.waitFor(({ type }) => type === 'extension_error');
    expect(failed).toMatchObject({
      event: 'load',
      error: expect.stringContaining('no-such-file.js') as unknown,
    });
    expect(await program.ask('get_state')).toMatchObject({ success: true });
  });
});
