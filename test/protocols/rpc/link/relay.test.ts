import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { RpcClient } from '@mariozechner/pi-coding-agent';
import { describe, expect, it, onTestFinished } from 'vitest';
import { objectOf } from '../../../../src/base/index.ts';
import type { Health } from '../../../../src/daemon/index.ts';
import { dataPathsFrom } from '../../../../src/setup/index.ts';
import { RPC_SOCKET } from '../../../../src/protocols/index.ts';
import { connectUnix } from '../../../../src/wire/index.ts';
import { type CliFixture, cliFixture } from '../../../cli/daemon.ts';
import { MAIN, type Running, temporaryDirectory } from '../../../cli/polypod.ts';
import { gist } from '../gist.ts';
import { Program } from '../program.ts';

interface Relayed {
  readonly fixture: CliFixture;
  readonly daemon: Running;
  readonly client: (...args: readonly string[]) => Program;
  readonly health: () => Promise<Health>;
}

/** A daemon with the simulated model, and clients that connect to it. */
async function relayed(config = ''): Promise<Relayed> {
  const fixture = await cliFixture();
  fixture.configure(config);
  const daemon = await fixture.serve('--offline');
  return {
    fixture,
    daemon,
    client: (...args) => new Program(args, fixture.env),
    health: async () => JSON.parse((await fixture.polypod('status', '--json')).stdout) as Health,
  };
}

function socketIn({ env }: Pick<CliFixture, 'env'>, ...names: readonly string[]): string {
  return join(dataPathsFrom(env).runtimeDirectory, ...names);
}

/** A pod's socket is created shortly after the pod. */
async function connected(path: string): Promise<Socket> {
  for (;;) {
    const socket = await connectUnix(path);
    if (socket === undefined) continue;
    onTestFinished(() => void socket.destroy());
    return socket;
  }
}

/** Everything received up to a text. */
async function readUntil(socket: Socket, text: RegExp): Promise<string> {
  let output = '';
  for await (const chunk of socket.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    output += String(chunk);
    if (text.test(output)) return output;
  }
  throw new Error(`the link ended after ${output}`);
}

const TOUCH = `[[sim tool=bash args='{"command":"touch made.txt"}']]`;

describe('with a running daemon, polypod --mode rpc', () => {
  it('reports that this or another client has renamed the session', async () => {
    const { fixture, client } = await relayed();
    const program = client();
    await program.run('hi [[sim text=Hello]]');
    await program.get('set_session_name', { name: ' first ' });
    await program.get('set_session_name', { name: 'first' });
    expect((await fixture.polypod('rename', 'first', 'second')).code).toBe(0);
    await program.waitFor(({ name }) => name === 'second');
    expect(program.lines.filter(({ type }) => type === 'session_info_changed')).toEqual([
      { type: 'session_info_changed', name: 'first' },
      { type: 'session_info_changed', name: 'second' },
    ]);
  });

  it("serves pi's own client from the daemon", async () => {
    const { fixture, health } = await relayed();
    const pi = new RpcClient({ cliPath: MAIN, cwd: fixture.project, env: { ...fixture.env } });
    await pi.start();
    onTestFinished(() => pi.stop());
    const events = await pi.promptAndWait('hi [[sim text=Hello]]');
    // `ready` is included only if pi listens before it arrives.
    expect(events.map(({ type }): string => type).find((type) => type !== 'ready')).toBe('agent_start');
    expect(events.map(({ type }) => type).filter((type) => type === 'agent_end')).toHaveLength(1);
    expect(await pi.getLastAssistantText()).toBe('Hello');
    expect(await pi.bash('pwd')).toMatchObject({ output: `${fixture.project}\n`, exitCode: 0 });
    expect(await pi.setModel('sim', 'offline')).toMatchObject({ id: 'offline' });
    const [first] = await pi.getForkMessages();
    expect(await pi.fork(first?.entryId ?? '')).toMatchObject({ cancelled: false });
    expect(await pi.newSession()).toEqual({ cancelled: false });
    expect(await pi.getState()).toMatchObject({ messageCount: 0 });
    const { pods, doors } = await health();
    expect(pods.live).toBeGreaterThan(0);
    expect(doors).toContainEqual({
      name: 'rpc',
      state: 'open',
      details: { socket: socketIn(fixture, 'rpc.sock'), links: 1, refused: 0 },
    });
  });

  it('shows its session in the list and on its pod socket at the same time', async () => {
    const { fixture, client } = await relayed();
    const program = client();
    await program.run('one [[sim text=first]]');
    const { sessionId } = await program.get('get_state');
    const listed = await fixture.polypod('ls', '--json');
    expect(listed.stdout).toContain(String(sessionId));
    const socket = await connected(socketIn(fixture, 'pods', `${String(sessionId)}.sock`));
    socket.write('{"method":"run","params":{"input":"from there [[sim text=back]]"}}\n');
    expect(await readUntil(socket, /"state":"idle"/)).toContain('"text":"back"');
    await program.waitFor(
      ({ type, message }) => type === 'message_end' && JSON.stringify(message).includes('back'),
    );
    expect((await program.end()).code).toBe(0);
  });

  it('writes nothing before the first command of its client', async () => {
    const { fixture, client } = await relayed();
    const program = client();
    expect(await program.get('get_state')).toMatchObject({ messageCount: 0 });
    await program.end();
    expect(JSON.parse((await fixture.polypod('ls', '--json')).stdout)).toEqual([]);
  });

  it('gives every client its own session, or two the same one', async () => {
    const { client } = await relayed();
    const [one, two] = [client(), client()];
    await Promise.all([one.run('[[sim text=one]]'), two.run('[[sim text=two]]')]);
    expect(await one.get('get_last_assistant_text')).toEqual({ text: 'one' });
    expect(await two.get('get_last_assistant_text')).toEqual({ text: 'two' });
    const { sessionId } = await one.get('get_state');
    const three = client('--resume', String(sessionId));
    expect(await three.get('get_state')).toMatchObject({ sessionId, messageCount: 2 });
    await one.run('[[sim text=shared]]');
    await three.quiet();
    expect(await three.get('get_last_assistant_text')).toEqual({ text: 'shared' });
  });

  it('applies the session options of its command line', async () => {
    const { fixture, client } = await relayed();
    const program = client('--thinking', 'high', '--system-prompt', 'You are a test.', '--no-mcp', '-c');
    await program.run('[[sim text=ok]]');
    const { sessionId, sessionFile } = await program.get('get_state');
    const kept = readFileSync(String(sessionFile), 'utf8');
    expect(kept).toContain('"thinking":"high"');
    expect(kept).toContain('"system":"You are a test."');
    await program.end();
    expect(await client('--continue').get('get_state')).toMatchObject({ sessionId });
    expect(await client('--fork', String(sessionId)).get('get_state')).toMatchObject({ messageCount: 2 });
    expect(statSync(socketIn(fixture, 'rpc.sock')).mode & 0o777).toBe(0o600);
  });

  it('reports what the daemon cannot provide before ready', async () => {
    const { client, health } = await relayed();
    const provider = await client('--provider', 'nobody', '--model', 'x').finished;
    expect(provider).toMatchObject({ code: 1, stdout: '' });
    expect(provider.stderr).toMatch(/^Unknown provider "nobody"\.[^\n]*\n$/);
    const session = await client('--resume', 'no-such').finished;
    expect(session).toMatchObject({ code: 1, stdout: '' });
    expect(session.stderr).toContain('no-such');
    const program = client();
    program.send({ type: 'no_such_command' });
    await program.waitFor(({ success }) => success === false);
    const { doors } = await health();
    expect(doors.find(({ name }) => name === 'rpc')?.details).toMatchObject({ refused: 3 });
  });
});

describe('the RPC relay', () => {
  it('answers the commands before the end of its input, and exits with 0', async () => {
    const { client } = await relayed();
    const program = client();
    program.write('{"id":"s","type":"get_state"}');
    const { code, stdout } = await program.end();
    expect(code).toBe(0);
    expect(stdout.split('\n').map((line) => line.slice(0, 20))).toEqual([
      '{"type":"ready","ver',
      '{"id":"s","type":"re',
      '',
    ]);
  });

  it('exits on a signal, and the run continues', async () => {
    const { client } = await relayed();
    const program = client();
    program.send({ type: 'prompt', message: `[[sim deltas=50 delay=5]]` });
    await program.waitFor(({ type }) => type === 'message_update');
    const { sessionId } = await program.get('get_state');
    program.child.kill('SIGTERM');
    expect((await program.finished).code).toBe(0);
    const again = client('--resume', String(sessionId));
    const { isStreaming } = await again.get('get_state');
    if (isStreaming === true) await again.quiet();
    const { messages } = await again.get('get_messages');
    expect(messages).toMatchObject([{ role: 'user' }, { role: 'assistant', stopReason: 'stop' }]);
  });

  it('exits with 1 and a message when the daemon dies', async () => {
    const { daemon, client } = await relayed();
    const program = client();
    await program.get('get_state');
    daemon.child.kill('SIGKILL');
    const { code, stderr } = await program.finished;
    expect(code).toBe(1);
    expect(stderr).toBe(
      'the daemon closed the connection: see polypod status and polypod logs; the session is stored\n',
    );
    // The next process ignores the stale socket.
    expect(await client('--offline').get('get_state')).toMatchObject({ messageCount: 0 });
  });

  it('exits with 1 when the daemon is stopped', async () => {
    const { fixture, client } = await relayed();
    const program = client();
    await program.get('get_state');
    expect((await fixture.polypod('stop')).code).toBe(0);
    expect((await program.finished).code).toBe(1);
    expect(existsSync(socketIn(fixture, 'rpc.sock'))).toBe(false);
  });

  it('removes its client’s tools from the pod when the client disconnects', async () => {
    const { fixture, client } = await relayed();
    const program = client();
    const tools = [{ name: 'echo_host', description: 'Echoes.', parameters: { type: 'object' } }];
    expect(await program.get('set_host_tools', { tools })).toEqual({ toolNames: ['echo_host'] });
    await program.run('[[sim text=ok]]');
    const { sessionId } = await program.get('get_state');
    await program.end();
    const pod = await fixture.pod(String(sessionId));
    for await (const watched of pod.watch()) {
      expect(watched).toMatchObject({ snapshot: { settings: { clientTools: [] } } });
      break;
    }
  });

  it.each([
    [['--model', 'anthropic/opus', '--ask'], { model: 'anthropic/opus', isAsking: true }],
    [['--ask'], { model: 'sim/other', isAsking: true }],
    [['--resume', 'x'], { resume: 'x', isAsking: false }],
  ])('sends the daemon its directory and options, and no key: %j', async (args, expected) => {
    const home = temporaryDirectory();
    const env = {
      HOME: home,
      ANTHROPIC_API_KEY: 'sk-ant-secret',
      USER: 'ada',
      POLYPOD_MODEL: 'sim/other',
    };
    const path = socketIn({ env }, 'rpc.sock');
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const header = new Promise<string>((resolve) => {
      const server = createServer((socket) => {
        socket.setEncoding('utf8').once('data', (text: string) => {
          resolve(text);
          socket.end('{"refused":"not today"}\n');
        });
      }).listen(path);
      onTestFinished(() => void server.close());
    });
    const program = new Program(args, env);
    expect(await program.finished).toEqual({ code: 1, stdout: '', stderr: 'not today\n' });
    expect(await header).not.toContain('secret');
    const { cwd, by, model, isAsking, resume } = objectOf(JSON.parse(await header));
    expect({ cwd, by, model, isAsking, resume }).toEqual({ cwd: home, by: 'ada', ...expected });
  });
});

describe('an RPC session in the daemon', () => {
  it('runs commands without approval, and no other session does', async () => {
    const { fixture, client } = await relayed();
    const program = client();
    expect(gist(await program.run(TOUCH))).toContain('tool_execution_end bash');
    expect(existsSync(join(fixture.home, 'made.txt'))).toBe(true);
    await program.get('new_session');
    expect(gist(await program.run(TOUCH))).toContain('tool_execution_end bash');
    const link = await fixture.link();
    const { id } = await link.call('new', { cwd: fixture.home });
    const socket = await connected(socketIn(fixture, 'pods', `${String(id)}.sock`));
    socket.write(`${JSON.stringify({ method: 'run', params: { input: TOUCH } })}\n`);
    expect(await readUntil(socket, /"state":"(?:paused|idle)"/)).toContain('"state":"paused"');
  });

  it('requires approval with --ask, also if it did not before', async () => {
    const { fixture, client } = await relayed();
    const program = client();
    await program.run('[[sim text=ok]]');
    const { sessionId } = await program.get('get_state');
    const asking = client('--ask', '--resume', String(sessionId));
    asking.send({ type: 'prompt', message: TOUCH });
    const { id } = await asking.waitFor(({ type }) => type === 'extension_ui_request');
    asking.send({ type: 'extension_ui_response', id, value: 'Deny' });
    await asking.quiet();
    expect(existsSync(join(fixture.home, 'made.txt'))).toBe(false);
  });

  it('does not run what the user has denied', async () => {
    const { fixture, client } = await relayed('permissions: { rules: [{ command: touch, action: deny }] }\n');
    const lines = await client().run(TOUCH);
    expect(lines.find(({ type }) => type === 'tool_execution_end')).toMatchObject({ isError: true });
    expect(existsSync(join(fixture.home, 'made.txt'))).toBe(false);
  });
});

describe('with a running daemon', () => {
  const extension = (): string => {
    const file = join(temporaryDirectory(), 'extension.mjs');
    writeFileSync(file, 'export default function () {}');
    return file;
  };

  it.each([
    ['--no-daemon', () => ['--no-daemon']],
    ['--no-session', () => ['--no-session']],
    ['--session-dir', () => ['--session-dir', temporaryDirectory()]],
    ['--api-key', () => ['--api-key', 'sk-test', '--provider', 'sim']],
    ['-e', () => ['-e', extension()]],
    ['--offline', () => ['--offline']],
  ])('%s keeps the session in the process', async (_, args) => {
    const { client, health } = await relayed();
    const program = client('--model', 'sim/offline', ...args());
    await program.run('[[sim text=ok]]');
    const { pods, doors } = await health();
    expect(pods.live).toBe(0);
    expect(doors.find(({ name }) => name === 'rpc')?.details).toMatchObject({ links: 0 });
    expect((await program.end()).code).toBe(0);
  });

  it('a door that is disabled in the configuration does too', async () => {
    const { client, health } = await relayed('doors: { rpc: false }\n');
    const program = client('--offline');
    await program.run('[[sim text=ok]]');
    const { pods, doors } = await health();
    expect(pods.live).toBe(0);
    expect(doors).toContainEqual({ name: 'rpc', state: 'off' });
  });
});

describe('a session that another process has open', () => {
  it('is refused before ready, with the reason', async () => {
    const { client } = await relayed();
    const holder = client();
    await holder.run('[[sim text=ok]]');
    const { sessionId } = await holder.get('get_state');
    const refused = client('--no-daemon', '--session', String(sessionId));
    const { code, stderr } = await refused.end();
    expect(refused.lines).toEqual([]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/is open in process \d+\. Use it there, or end that process/);
  });

  it('is served by a daemon that opened it while the program was starting', async () => {
    const { fixture, client } = await relayed();
    const holder = client();
    await holder.run('[[sim text=ok]]');
    const { sessionId } = await holder.get('get_state');
    const socket = socketIn(fixture, RPC_SOCKET);
    renameSync(socket, `${socket}.away`);
    // The program has not found the daemon when it looks for a model here.
    const ollama = createHttpServer((_, response) => {
      if (existsSync(`${socket}.away`)) renameSync(`${socket}.away`, socket);
      response.writeHead(404).end();
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void ollama.close());
    await once(ollama, 'listening');
    const { port } = ollama.address() as AddressInfo;
    const program = new Program(['--session', String(sessionId)], {
      ...fixture.env,
      ANTHROPIC_API_KEY: '',
      OLLAMA_HOST: `http://127.0.0.1:${port}`,
    });
    expect(await program.get('get_last_assistant_text')).toEqual({ text: 'ok' });
    expect(existsSync(`${socket}.away`)).toBe(false);
  });
});
