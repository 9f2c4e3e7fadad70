import { mkdirSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { dirname } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CONTROL_VERSION } from '../../../src/control/handshake.ts';
import { Layout, sessionsIn } from '../../../src/pod/sessions.ts';
import { controlSocket, dataPathsFrom, hostSocket } from '../../../src/setup/index.ts';
import { acquireLock } from '../../../src/store/index.ts';
import { type Home, newHome } from '../chat/chat-fixture.ts';
import { cliFixture } from '../daemon.ts';
import { polypod } from '../polypod.ts';

interface Line {
  readonly method: string;
  readonly params?: object;
}

/** A daemon of another version on the control socket of a home. Returns the methods that commands call. */
const otherDaemon = ({ env }: Pick<Home, 'env'>, answer: (line: Line) => object) =>
  otherProcess(controlSocket(dataPathsFrom(env)), answer);

async function otherProcess(path: string, answer: (line: Line) => object): Promise<readonly string[]> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const called: string[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    createInterface({ input: socket }).on('line', (text) => {
      const line = JSON.parse(text) as Line;
      called.push(line.method);
      socket.write(`${JSON.stringify(answer(line))}\n`);
      if (line.method === 'stop') socket.end();
    });
  });
  await new Promise<void>((resolve) => void server.listen(path, resolve));
  onTestFinished(() => void server.close());
  return called;
}

const result = (value: object) => ({ result: value });

/** The answer of daemons from before the handshake existed. */
const beforeHandshake = ({ method }: Line): object =>
  method === 'hello'
    ? { error: { code: 'unknown-method', message: 'there is no method "hello": there are status, stop' } }
    : result({ stopping: true });

const ofVersion =
  (protocol: number, version: string) =>
  ({ method }: Line): object =>
    result(method === 'hello' ? { protocol, version, pid: 4711 } : { stopping: true });

const NEWER = CONTROL_VERSION + 1;

const COMMANDS = [['status'], ['approvals'], ['new'], ['chat', 'Hello'], ['run', 'Hello']];

describe('a command that connects to a daemon of another version', () => {
  it.each(COMMANDS)('polypod %s reports an older daemon, and how to restart it', async (...args) => {
    const home = newHome();
    const called = await otherDaemon(home, beforeHandshake);
    const { code, stdout, stderr } = await polypod(args, { env: home.env });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(
      `the daemon runs an older Polypod than this command (control protocol 0, not ${CONTROL_VERSION}). Restart it: run "polypod stop", then "polypod serve".`,
    );
    expect(called).toEqual(['hello']);
  });

  it('reports a newer daemon, with its version and process', async () => {
    const home = newHome();
    const called = await otherDaemon(home, ofVersion(NEWER, '9.1.0'));
    const { code, stderr } = await polypod(['status'], { env: home.env });
    expect(code).toBe(2);
    expect(stderr).toContain(
      `the daemon (process 4711) runs Polypod 9.1.0, which is newer than this command (control protocol ${NEWER}, not ${CONTROL_VERSION}). Update this one, or replace the daemon by this version: run "polypod stop", then "polypod serve".`,
    );
    expect(called).toEqual(['hello']);
  });

  it.each([
    ['older', beforeHandshake],
    ['newer', ofVersion(NEWER, '9.1.0')],
  ])('polypod stop ends one that is %s', async (_, answer) => {
    const home = newHome();
    const called = await otherDaemon(home, answer);
    expect(await polypod(['stop'], { env: home.env })).toMatchObject({
      code: 0,
      stderr: 'polypod: the daemon has stopped\n',
    });
    expect(called).toEqual(['hello', 'stop']);
  });
});

describe('a chat that joins a process of another version', () => {
  it.each([
    [0, 'older', 'End it, then resume the session here.'],
    [NEWER, 'newer', 'Update this one, or end that process and resume the session here.'],
  ])('reports protocol %i, and sends no further request', async (protocol, age, remedy) => {
    const home = newHome();
    const id = (await polypod(['new', '--cwd', home.project], { env: home.env })).stdout.trim();
    const dataPaths = dataPathsFrom(home.env);
    const [row] = sessionsIn(dataPaths.dataDirectory);
    const lock = acquireLock(new Layout(dataPaths.dataDirectory).path(row?.file ?? ''));
    onTestFinished(() => lock.release());
    const called = await otherProcess(hostSocket(dataPaths, process.pid), ofVersion(protocol, '9.1.0'));
    for (const args of [
      ['attach', id],
      ['chat', '--offline', '--resume', id],
    ]) {
      const { code, stderr } = await polypod(args, { env: home.env });
      expect({ code, stderr }).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(
          `the process that has the session open (process 4711) runs Polypod 9.1.0, which is ${age} than this command (control protocol ${protocol}, not ${CONTROL_VERSION}). ${remedy}`,
        ),
      });
    }
    expect(called).toEqual(['hello', 'hello']);
  });
});

describe('the daemon', () => {
  it('returns its own version to a client of another version, and keeps serving the connection', async () => {
    const fixture = await cliFixture();
    const daemon = await fixture.serve();
    const socket = connect(controlSocket(dataPathsFrom(fixture.env)));
    socket.end('{"method":"hello","params":{"protocol":99,"later":true}}\n{"method":"ls"}\n');
    expect(await linesOf(socket)).toEqual([
      { result: { protocol: CONTROL_VERSION, version: expect.any(String), pid: daemon.child.pid } },
      { result: { sessions: [] } },
    ]);
  });

  it('has the methods of this version: changing them requires a new version', async () => {
    const fixture = await cliFixture();
    await fixture.serve();
    await expect((await fixture.link()).call('fly')).rejects.toThrow(
      'there is no method "fly": there are hello, command, watch, briefing, rewind-points, rewind-preview, conversation, model, models, status, metrics, reload, configuration, stop, ls, new, approvals, watch-approvals, fork, rm, restore, release-socket, agent-start, agent-stop',
    );
  });
});

async function linesOf(socket: Socket): Promise<readonly unknown[]> {
  let text = '';
  for await (const piece of socket) text += String(piece);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);
}
