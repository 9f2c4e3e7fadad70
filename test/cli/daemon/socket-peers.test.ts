import { existsSync, linkSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { token } from '../../tools/survivors.ts';
import { call, textAnswer, cliFixture, type CliFixture } from '../daemon.ts';
import { polypod, start, USERS, type User } from '../polypod.ts';

/** Connects to each path, sends a line, and writes the responses to a file. */
const CONNECT_SCRIPT = `
const net = require('net'), fs = require('fs');
const [out, ...paths] = process.argv.slice(2);
const answers = {};
let open = paths.length;
for (const path of paths) {
  const socket = net.connect(path);
  let text = '';
  socket.on('connect', () => socket.write('{"method":"status","jsonrpc":"2.0","id":1}\\n'));
  const end = (how) => {
    if (answers[path] !== undefined) return;
    answers[path] = text || how;
    socket.destroy();
    open -= 1;
    if (open === 0) { fs.writeFileSync(out + '.new', JSON.stringify(answers)); fs.renameSync(out + '.new', out); }
  };
  socket.on('data', (piece) => { text += piece; if (text.includes('\\n')) end(); });
  socket.on('error', (error) => end(error.code));
  socket.on('close', () => end('closed'));
}`;

const OFF = 'permissions: { mode: full-access, isolate_commands: off }\n';
const ON = 'permissions: { mode: full-access }\n';

interface ConnectFixture {
  readonly fixture: CliFixture;
  readonly out: string;
  readonly doors: Readonly<Record<'control' | 'hld' | 'rpc', string>>;
  readonly env: CliFixture['env'];
}

async function connectFixture(
  config: string,
  command: (fixture: CliFixture) => string,
  user: User,
): Promise<ConnectFixture> {
  const script: ReturnType<typeof call>[] = [];
  const fixture = await cliFixture(script, user);
  const run = join(fixture.dataDirectory, 'run');
  const doors = {
    control: join(run, 'daemon.sock'),
    rpc: join(run, 'rpc.sock'),
    hld: join(fixture.home, '.humanlayer/daemon.sock'),
  };
  fixture.configure(config);
  writeFileSync(join(fixture.home, 'knock.cjs'), CONNECT_SCRIPT);
  script.push(call('bash', { command: command(fixture) }), textAnswer('Done.'));
  return {
    fixture,
    doors,
    out: join(fixture.home, 'out.json'),
    env: { ...fixture.env, POLYPOD_MODEL: 'anthropic/x' },
  };
}

const connectCommand = ({ home }: CliFixture, paths: string): string =>
  `${process.execPath} ${join(home, 'knock.cjs')} ${join(home, 'out.json')} ${paths}`;

const answersIn = (out: string) => JSON.parse(readFileSync(out, 'utf8')) as Record<string, string>;

describe.each(USERS)('a command of an agent, as %s,', (_, user) => {
  it('is refused at every socket of the daemon, in the protocol of each, and is logged and counted', async () => {
    const { fixture, doors, out, env } = await connectFixture(
      OFF,
      (at) => {
        const run = join(at.dataDirectory, 'run');
        return connectCommand(
          at,
          `${run}/daemon.sock ${run}/rpc.sock ${at.home}/.humanlayer/daemon.sock ${run}/pods/*.sock`,
        );
      },
      user,
    );
    const daemon = await fixture.serve();
    expect((await polypod(['run', '-C', fixture.project, 'Go'], { env, user })).code).toBe(0);
    const answers = answersIn(out);
    const message = expect.stringMatching(/^connection refused: it was started by a command of an agent\./);
    const parsed = (path: string): unknown => JSON.parse(answers[path] ?? '');
    expect(parsed(doors.control)).toEqual({ error: expect.objectContaining({ code: 'denied', message }) });
    expect(parsed(doors.rpc)).toEqual({ refused: message });
    expect(parsed(doors.hld)).toEqual({ jsonrpc: '2.0', error: { code: -32600, message }, id: null });
    const [pod] = Object.keys(answers).filter((path) => path.includes('/pods/'));
    expect(parsed(pod ?? '')).toEqual({ event: 'error', data: { code: 'internal', message } });
    await daemon.waitForOutput('a connection was refused');
    const audit = await polypod(['audit', '--json'], { env, user });
    expect(audit.stdout).toContain('"event":"connection.refused"');
    const { stdout } = await polypod(['status', '--metrics'], { env, user });
    expect(stdout).toContain(`polypod_connections_refused_total ${Object.keys(answers).length}\n`);
  });

  it('is refused at the socket of a process that hosts its agent itself', async () => {
    const { fixture, out, env } = await connectFixture(
      OFF,
      (at) => connectCommand(at, `${at.dataDirectory}/run/pods/*.sock ${at.dataDirectory}/run/hosts/*.sock`),
      user,
    );
    expect((await polypod(['run', '-C', fixture.project, 'Go'], { env, user })).code).toBe(0);
    expect(Object.keys(answersIn(out)).filter((path) => path.includes('/hosts/'))).toHaveLength(1);
    for (const answer of Object.values(answersIn(out))) expect(answer).toContain('connection refused');
    const { stdout } = await polypod(['audit', '--json', '--event', 'connection.refused'], { env, user });
    const recorded = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { target: string; details: { reason: unknown } });
    expect(recorded.map(({ target }) => target).toSorted()).toEqual(Object.keys(answersIn(out)).toSorted());
    for (const { details } of recorded) expect(details.reason).toEqual(expect.any(String));
  });

  it('of another process is refused by the daemon as well', async () => {
    const { fixture, doors, out, env } = await connectFixture(
      OFF,
      (at) => connectCommand(at, `${at.dataDirectory}/run/daemon.sock`),
      user,
    );
    await fixture.serve();
    expect((await polypod(['run', '--no-daemon', '-C', fixture.project, 'Go'], { env, user })).code).toBe(0);
    expect(answersIn(out)[doors.control]).toContain('connection refused');
  });

  it('in a PID namespace finds no socket, and is refused at another path, also after a double fork', async () => {
    const { fixture, doors, out, env } = await connectFixture(
      ON,
      (at) => {
        const paths = `${at.dataDirectory}/run/daemon.sock ${at.project}/door.sock`;
        return `(env -i setsid ${connectCommand(at, paths)} > /dev/null 2>&1 &); while [ ! -e ${at.home}/out.json ]; do sleep 0.02; done`;
      },
      user,
    );
    await fixture.serve();
    linkSync(doors.control, join(fixture.project, 'door.sock'));
    const { code, stderr } = await polypod(['run', '-C', fixture.project, 'Go'], { env, user });
    expect(code, stderr).toBe(0);
    expect(answersIn(out)).toEqual({
      [doors.control]: 'ENOENT',
      [join(fixture.project, 'door.sock')]: expect.stringContaining('it runs in another process namespace'),
    });
  });

  it('can connect if the configuration allows it', async () => {
    const { fixture, doors, out, env } = await connectFixture(
      `${ON}sockets: { allow_agent_processes: true }\n`,
      (at) => connectCommand(at, `${at.dataDirectory}/run/daemon.sock`),
      user,
    );
    await fixture.serve();
    expect((await polypod(['run', '-C', fixture.project, 'Go'], { env, user })).code).toBe(0);
    expect(answersIn(out)[doors.control]).toContain('"result"');
  });
});

it('a user and a configured MCP server can connect while a command of an agent runs', async () => {
  const mark = token();
  const { fixture, doors, env } = await connectFixture(
    `${OFF}mcp_servers: { knocker: { command: ${process.execPath}, args: [HOME/knock.cjs, HOME/mcp.json, HOME/.humanlayer/daemon.sock] } }\n`,
    () => `echo begun > begun; sleep ${mark}`,
    {},
  );
  fixture.configure(
    readFileSync(join(fixture.home, '.config/polypod/config.yaml'), 'utf8').replaceAll('HOME', fixture.home),
  );
  await fixture.serve();
  const first = start(['run', '-C', fixture.project, 'Go'], env);
  first.child.stdin.end();
  await expect.poll(() => existsSync(join(fixture.project, 'begun'))).toBe(true);
  // Its server starts with the second session, while the command of the first one runs.
  const second = start(['run', '-C', fixture.project, '-m', 'sim/offline', 'Hello'], env);
  second.child.stdin.end();
  await expect.poll(() => existsSync(join(fixture.home, 'mcp.json'))).toBe(true);
  expect(answersIn(join(fixture.home, 'mcp.json'))[doors.hld]).toContain('"jsonrpc"');
  expect(answersIn(join(fixture.home, 'mcp.json'))[doors.hld]).not.toContain('refused');
  const status = await fixture.polypod('status', '--json');
  expect(status.code).toBe(0);
  expect(JSON.parse(status.stdout)).toMatchObject({ refusedConnections: 0 });
  expect(readdirSync(join(fixture.dataDirectory, 'commands'))).toHaveLength(1);
});

it('a thousand clients are served at once, also while a command of an agent runs', async () => {
  const { fixture, doors, env } = await connectFixture(OFF, () => 'echo begun > begun; sleep 600', {});
  await fixture.serve();
  const burst = async (): Promise<number> => {
    const answers = Array.from({ length: 1_000 }, async () => {
      const socket = connect(doors.control);
      socket.write('{"method":"status"}\n');
      const [piece] = await new Promise<[Buffer]>((settle, fail) => {
        socket.on('data', (bytes: Buffer) => settle([bytes])).on('error', fail);
      });
      socket.destroy();
      return piece.toString().startsWith('{"result"') ? 1 : 0;
    });
    return (await Promise.all(answers)).reduce<number>((sum, one) => sum + one, 0);
  };
  expect(await burst()).toBe(1_000);
  start(['run', '-C', fixture.project, 'Go'], env).child.stdin.end();
  await expect.poll(() => existsSync(join(fixture.project, 'begun'))).toBe(true);
  expect(await burst()).toBe(1_000);
});
