import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { namedSocketLimit } from '../../src/daemon/sockets/named-sockets.ts';
import { type CliFixture, cliFixture } from '../cli/daemon.ts';
import { MAIN, start } from '../cli/polypod.ts';

/** The machine may be busy. */
const SOON = { timeout: 60_000 };

const podsOf = ({ dataDirectory }: CliFixture): string => join(dataDirectory, 'run', 'pods');
const socketNames = (fixture: CliFixture): readonly string[] => readdirSync(podsOf(fixture)).toSorted();

async function connected(path: string): Promise<Socket> {
  const socket = connect(path);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Sends a line and returns the first line that comes back. */
async function ask(path: string, line: object): Promise<{ event?: string; data?: Record<string, unknown> }> {
  const socket = await connected(path);
  const lines = createInterface({ input: socket });
  socket.write(`${JSON.stringify(line)}\n`);
  const [first] = (await once(lines, 'line')) as [string];
  socket.destroy();
  return JSON.parse(first) as { event?: string };
}

async function newPod({ polypod: run, project }: CliFixture, name: string): Promise<string> {
  const made = await run('new', '--name', name, '--cwd', project);
  expect(made.code).toBe(0);
  return made.stdout.trim();
}

/** An old session file; a higher number means a later time. */
function leaveSession({ dataDirectory, project }: CliFixture, id: string, number: number): void {
  const timestamp = new Date(Date.UTC(2026, 0, 1, 0, 0, number)).toISOString();
  const lines = [
    { type: 'session', version: 3, id, timestamp, cwd: project },
    { type: 'session_info', id: 'aaaaaaaa', parentId: null, timestamp, name: `pod-${number}` },
  ];
  const sessions = join(dataDirectory, 'sessions');
  mkdirSync(sessions, { recursive: true, mode: 0o700 });
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  writeFileSync(join(sessions, `${id}.jsonl`), text, { mode: 0o600 });
}

/** Resolves when no pod is in memory. */
async function hibernated(fixture: CliFixture): Promise<void> {
  const link = await fixture.link();
  await expect.poll(async () => (await link.call('status')).pods, SOON).toMatchObject({ live: 0 });
  link.close();
}

/** The number of open server connections on a path, as the system lists them; other connections of the process do not count. */
function connectionsTo(path: string): number {
  const CONNECTED = '03';
  return readFileSync('/proc/net/unix', 'utf8')
    .split('\n')
    .filter((line) => line.endsWith(` ${path}`) && line.split(/ +/)[5] === CONNECTED).length;
}

describe("a pod's socket", () => {
  it('releases connections that close without sending anything, and the pod hibernates', async () => {
    const fixture = await cliFixture();
    fixture.configure('hibernate_after: 50ms\n');
    await fixture.serve();
    const path = join(podsOf(fixture), `${await newPod(fixture, 'demo')}.sock`);
    const listener = await connected(path);
    const clients = await Promise.all(Array.from({ length: 50 }, () => connected(path)));
    await expect.poll(() => connectionsTo(path), SOON).toBe(51);
    for (const client of clients) client.destroy();
    await expect.poll(() => connectionsTo(path), SOON).toBe(1);
    listener.destroy();
    await hibernated(fixture);
  });
});

describe('the socket of a named pod', () => {
  it('listens while the pod hibernates and after the daemon was killed, and loads the pod', async () => {
    const fixture = await cliFixture();
    fixture.configure('hibernate_after: 50ms\n');
    const first = await fixture.serve();
    const id = await newPod(fixture, 'demo');
    const unnamed = (await fixture.polypod('new', '--cwd', fixture.project)).stdout.trim();
    await hibernated(fixture);
    await expect.poll(() => socketNames(fixture), SOON).toEqual([`${id}.sock`, 'demo.sock'].toSorted());
    const path = join(podsOf(fixture), 'demo.sock');
    const status = { state: 'idle', session_id: id, pod_name: 'demo' };
    expect(await ask(path, { method: 'get_status' })).toEqual({ event: 'status', data: status });
    first.child.kill('SIGKILL');
    await first.finished;
    expect(existsSync(path)).toBe(true);
    await fixture.serve();
    expect((lstatSync(join(podsOf(fixture), `${id}.sock`)).mode & 0o777).toString(8)).toBe('600');
    expect(await ask(path, { method: 'get_status' })).toEqual({ event: 'status', data: status });
    // A pod without a name is reachable through the daemon's own socket.
    const control = await connected(join(fixture.dataDirectory, 'run', 'daemon.sock'));
    const lines = createInterface({ input: control });
    control.write(`{"method":"attach","params":{"pod":"${unnamed}"}}\n{"method":"get_status"}\n`);
    const [line] = (await once(lines, 'line')) as [string];
    expect(JSON.parse(line)).toMatchObject({ event: 'status', data: { session_id: unnamed } });
  });

  it('follows a new name, and disappears with the pod', async () => {
    const fixture = await cliFixture();
    fixture.configure('hibernate_after: 50ms\n');
    await fixture.serve();
    const id = await newPod(fixture, 'demo');
    const client = await connected(join(podsOf(fixture), 'demo.sock'));
    client.end('{"method":"configure","params":{"set":{"name":"other"}}}\n');
    await expect.poll(() => socketNames(fixture), SOON).toEqual([`${id}.sock`, 'other.sock'].toSorted());
    await hibernated(fixture);
    const second = await newPod(fixture, 'other');
    // Two pods have the same name, so neither is reachable by it.
    await expect.poll(() => socketNames(fixture), SOON).toEqual([`${id}.sock`, `${second}.sock`].toSorted());
    await hibernated(fixture);
    expect((await fixture.polypod('rm', '--yes', second)).code).toBe(0);
    await expect.poll(() => socketNames(fixture), SOON).toEqual([`${id}.sock`, 'other.sock'].toSorted());
    expect((await fixture.polypod('rm', '--yes', id)).code).toBe(0);
    await expect.poll(() => socketNames(fixture), SOON).toEqual([]);
  });

  it('belongs to a process that opens the pod itself, and to the daemon again afterwards', async () => {
    const fixture = await cliFixture([
      { parts: [{ text: 'It all began.' }], fault: { kind: 'stall', after: 2 } },
    ]);
    fixture.configure('hibernate_after: 50ms\n');
    await fixture.serve();
    const id = await newPod(fixture, 'demo');
    await hibernated(fixture);
    const path = join(podsOf(fixture), 'demo.sock');
    const env = { ...fixture.env, POLYPOD_MODEL: 'anthropic/x' };
    const other = start(['run', '--no-daemon', '--json', '--resume', 'demo', 'Tell me.'], env);
    await other.waitForOutput('"block-delta"');
    const state = async () => (await ask(path, { method: 'get_status' })).data;
    await expect.poll(state, SOON).toMatchObject({ state: 'running', session_id: id });
    other.child.kill('SIGKILL');
    await other.finished;
    const again = async () => (await state().catch(() => undefined))?.state;
    await expect.poll(again, SOON).toBe('idle');
  });

  it('exists for the most recently used names, within the limit of open files', async () => {
    const fixture = await cliFixture();
    const idAt = (index: number): string => `019d6e91-0000-7000-8000-${String(index).padStart(12, '0')}`;
    for (let index = 0; index < 70; index += 1) leaveSession(fixture, idAt(index), index);
    const program = 'ulimit -n 256 && exec "$0" "$@" serve --json --offline';
    const daemon = spawn('sh', ['-c', program, process.execPath, MAIN], {
      env: { ...fixture.env, PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void daemon.kill('SIGKILL'));
    await once(daemon.stdout, 'data');
    const links = (): readonly string[] => socketNames(fixture).filter((name) => name.startsWith('pod-'));
    await expect.poll(() => links().length, SOON).toBe(64);
    expect(links()).toContain('pod-6.sock');
    expect(links()).not.toContain('pod-5.sock');
    // A pod that is used again replaces the least recently used one.
    const status = { state: 'idle', session_id: idAt(0), pod_name: 'pod-0' };
    const control = await connected(join(fixture.dataDirectory, 'run', 'daemon.sock'));
    const lines = createInterface({ input: control });
    control.write('{"method":"attach","params":{"pod":"pod-0"}}\n{"method":"get_status"}\n');
    expect(JSON.parse(String(await once(lines, 'line')))).toEqual({ event: 'status', data: status });
    await expect.poll(links, SOON).toContain('pod-0.sock');
    await expect.poll(() => links().length, SOON).toBe(64);
    expect(links()).not.toContain('pod-6.sock');
    expect(await ask(join(podsOf(fixture), 'pod-0.sock'), { method: 'get_status' })).toMatchObject({
      data: status,
    });
  });

  it('exists for at most 1,000 names, and never uses more than a quarter of the open files', () => {
    expect(namedSocketLimit(1_024)).toBe(256);
    expect(namedSocketLimit(1_048_576)).toBe(1_000);
    expect(namedSocketLimit(undefined)).toBeLessThanOrEqual(1_000);
  });
});
