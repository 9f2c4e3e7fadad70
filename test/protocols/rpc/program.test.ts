import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { polypod, temporaryDirectory } from '../../cli/polypod.ts';
import { gist } from './gist.ts';
import { Program } from './program.ts';

describe('polypod --mode rpc', () => {
  it('says ready first, and nothing but JSON after it', async () => {
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

  it('answers what was said before its input ended', async () => {
    const { code, stdout } = await polypod(['--mode', 'rpc'], { input: '{"id":"s","type":"get_state"}' });
    expect(code).toBe(0);
    expect(stdout.split('\n')).toHaveLength(3);
    expect(stdout).toContain('"id":"s"');
  });

  it('ends with 0 when its input ends in the middle of a run', async () => {
    const program = new Program();
    program.send({ type: 'prompt', message: 'go [[sim deltas=5000 delay=5]]' });
    await program.hear(({ type }) => type === 'message_update');
    expect((await program.end()).code).toBe(0);
  });

  it('ends when it is told to', async () => {
    const program = new Program();
    program.send({ type: 'prompt', message: `go [[sim tool=bash args='{"command":"sleep 60"}']]` });
    await program.hear(({ type }) => type === 'tool_execution_start');
    program.child.kill('SIGTERM');
    expect((await program.finished).code).toBe(0);
  });

  it('lives through garbage', async () => {
    const program = new Program(['--offline']);
    const lines = Array.from(
      { length: 500 },
      (_, at) => [`{"half":${at}`, `[${at}]`, `\u0000\u0007${at}`, '{}'][at % 4],
    );
    program.write(`${lines.join('\n')}\n"${'x'.repeat(5_000_000)}\n`);
    program.child.stdin?.write(Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0x0a]));
    expect(await program.ask('get_state')).toMatchObject({ success: true });
    const refused = program.lines.filter(({ success }) => success === false);
    expect(refused).toHaveLength(lines.length + 2);
  });

  it('refuses files on its command line', async () => {
    expect(await polypod(['--mode', 'rpc', '@notes.md'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'Error: @file arguments are not supported in RPC mode\n',
    });
  });

  it('refuses a provider that nobody knows before it is ready', async () => {
    const { code, stdout, stderr } = await polypod(['--mode', 'rpc', '--provider', 'nobody', '--model', 'x']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^Unknown provider "nobody"\./);
  });

  it('takes every option that hosts pass', async () => {
    const directory = temporaryDirectory();
    const words = [
      '--no-session --thinking high --provider-session-id i --tools read,bash --no-skills --no-rules --no-title',
      '--no-color --no-lsp --no-mcp --no-pty --models sim/offline --some-option-of-tomorrow --offline',
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

  it('goes on with an earlier session', async () => {
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

  it('runs tools in its directory without asking, unless it is told to ask', async () => {
    const call = `[[sim tool=bash args='{"command":"touch made.txt"}']]`;
    const program = new Program();
    expect(gist(await program.run(call))).toContain('tool_execution_end bash');
    expect(existsSync(join(program.home, 'made.txt'))).toBe(true);
    const asking = new Program(['--ask']);
    asking.send({ type: 'prompt', message: call });
    const { id } = await asking.hear(({ type }) => type === 'extension_ui_request');
    expect(existsSync(join(asking.home, 'made.txt'))).toBe(false);
    asking.send({ type: 'extension_ui_response', id, value: 'Deny' });
    await asking.hear(({ type }) => type === 'agent_settled');
    expect(existsSync(join(asking.home, 'made.txt'))).toBe(false);
  });
});

describe('a session in RPC mode', () => {
  it('is open to other doors at the same time', async () => {
    const runtime = temporaryDirectory();
    const program = new Program(['--offline'], { XDG_RUNTIME_DIR: runtime });
    const { sessionId } = await program.get('get_state');
    const path = join(runtime, 'polypod', 'pods', `${String(sessionId)}.sock`);
    const socket = await connected(path);
    onTestFinished(() => void socket.destroy());
    let told = '';
    const finished = new Promise<void>((resolve) => {
      socket.setEncoding('utf8').on('data', (text: string) => {
        told += text;
        if (told.includes('"state":"idle"')) resolve();
      });
    });
    await program.run('[[sim text=everywhere]]');
    await finished;
    expect(told).toContain('"event":"text_done","data":{"text":"everywhere"}');
    socket.write('{"method":"run","params":{"input":"from there [[sim text=back]]"}}\n');
    await program.hear(
      ({ type, message }) => type === 'message_end' && JSON.stringify(message).includes('back'),
    );
  });
});

/** The socket comes a moment after the program is ready. */
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
  ])('cuts the answer that breaks it, with %j', async (args, times) => {
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

  it('adds a tool, which runs unasked', async () => {
    const program = extended();
    const lines = await program.run(`[[sim tool=shout args='{"text":"hi"}']]`);
    expect(lines.find(({ type }) => type === 'tool_execution_end')).toMatchObject({
      toolName: 'shout',
      result: { content: [{ type: 'text', text: 'HI' }], details: { loud: true } },
      isError: false,
    });
  });

  it('adds commands, and is told of by its failures', async () => {
    const program = extended();
    expect(await program.get('prompt', { message: '/name' })).toEqual({ disposition: 'handled' });
    const asked = await program.hear(({ method }) => method === 'input');
    expect(program.lines.indexOf(asked)).toBeLessThan(program.lines.findIndex(({ id }) => id === 'q1'));
    program.send({ type: 'extension_ui_response', id: asked.id, value: 'Ada' });
    expect(await program.hear(({ method }) => method === 'notify')).toMatchObject({ message: 'Hello Ada' });
    await program.ask('prompt', { message: '/fail' });
    expect(await program.hear(({ type }) => type === 'extension_error')).toEqual({
      type: 'extension_error',
      extensionPath: 'command:fail',
      event: 'command',
      error: 'boom',
    });
    const { commands } = await program.get('get_commands');
    expect((commands as { name: string }[]).map(({ name }) => name)).toEqual(['name', 'fail', 'quit', 'key']);
    expect(program.lines.some(({ method }) => method === 'setTitle')).toBe(false);
  });

  it('has a say in calls and in leaving the session', async () => {
    const program = extended();
    const lines = await program.run(`[[sim tool=bash args='{"command":"rm x"}']]`);
    expect(lines.find(({ type }) => type === 'tool_execution_end')).toMatchObject({
      result: { content: [{ type: 'text', text: 'no rm here' }] },
      isError: true,
    });
    program.send({ id: 'n', type: 'new_session' });
    const { id } = await program.hear(({ method }) => method === 'confirm');
    program.send({ type: 'extension_ui_response', id, confirmed: false });
    expect(await program.hear((line) => line.id === 'n')).toMatchObject({ data: { cancelled: true } });
  });

  it('sees no keys of providers', async () => {
    const program = extended({ ANTHROPIC_API_KEY: 'sk-ant-secret' });
    await program.ask('prompt', { message: '/key' });
    expect(await program.hear(({ method }) => method === 'notify')).toMatchObject({ message: 'undefined' });
  });

  it('can end the program, after the answer', async () => {
    const program = extended({ PI_RPC_EMIT_TITLE: 'yes' });
    expect(await program.ask('prompt', { message: '/quit' })).toMatchObject({ success: true });
    expect((await program.finished).code).toBe(0);
    expect(program.lines.find(({ method }) => method === 'setTitle')).toMatchObject({ title: 'never seen' });
  });

  it('that cannot be loaded is told of, and the program goes on', async () => {
    const program = new Program(['--offline', '-e', 'no-such-file.js']);
    const failed = await program.hear(({ type }) => type === 'extension_error');
    expect(failed).toMatchObject({
      event: 'load',
      error: expect.stringContaining('no-such-file.js') as unknown,
    });
    expect(await program.ask('get_state')).toMatchObject({ success: true });
  });
});
