import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MAIN, start, temporaryDirectory } from '../cli/polypod.ts';

const canMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

/** Starts a daemon whose data directory is a small disk of its own. */
async function daemonOnSmallDisk() {
  const home = temporaryDirectory();
  const [data, run] = [join(home, 'data'), join(home, 'run')];
  for (const directory of [data, run]) mkdirSync(directory, { mode: 0o700 });
  const env = { HOME: home, POLYPOD_DATA_DIR: data, POLYPOD_RUNTIME_DIR: run };
  const mount = 'mount -t tmpfs -o size=8m,mode=700 tmpfs "$POLYPOD_DATA_DIR" && exec "$0" "$@"';
  const daemon = spawn(
    'unshare',
    ['-rm', 'sh', '-c', mount, process.execPath, MAIN, 'serve', '--json', '--offline'],
    { env: { ...env, PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'ignore'] },
  );
  onTestFinished(() => void daemon.kill('SIGKILL'));
  await once(daemon.stdout, 'data');
  const fill = (): void => fillDisk(daemon, data);
  return { env, fill, socket: join(run, 'pods', 'demo.sock') };
}

/** The disk is seen through the daemon's process only. */
function fillDisk({ pid }: ChildProcess, directory: string): void {
  const path = `/proc/${pid}/root${directory}/filler`;
  for (let size = 1024 * 1024; size >= 512; size /= 2)
    try {
      for (;;) appendFileSync(path, Buffer.alloc(size));
    } catch {
      // No room for so much.
    }
}

/** What a client is sent until its connection closes. */
async function watched(path: string, first: string) {
  const socket = connect(path);
  await once(socket, 'connect');
  socket.write(first);
  let text = '';
  socket.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  const closed = once(socket, 'close');
  const lastLine = async (): Promise<unknown> => {
    await closed;
    return JSON.parse(text.trim().split('\n').at(-1) ?? '');
  };
  return { lastLine };
}

describe.runIf(canMount)('a disk that becomes full', () => {
  it('cuts off every watcher of a run with the reason first', async () => {
    const { env, fill, socket } = await daemonOnSmallDisk();
    const command = start(['run', '--name', 'demo', 'Go.\n[[sim deltas=9000 size=40 delay=1]]'], env);
    command.child.stdin.end();
    await command.hear('a simulated model');
    await expect.poll(() => existsSync(socket), { timeout: 20_000 }).toBe(true);
    const plain = await watched(socket, '');
    const extended = await watched(socket, '{"method":"subscribe"}\n');
    const late = await watched(socket, '{"method":"subscribe","params":{"after":0}}\n');
    fill();
    const message = expect.stringMatching(/^cannot append to .*: the disk is full\. Free some space/);
    expect(await plain.lastLine()).toEqual({ event: 'error', data: { code: 'internal', message } });
    const error = { event: 'error', data: { code: 'overloaded', message } };
    expect(await extended.lastLine()).toEqual(error);
    expect(await late.lastLine()).toEqual(error);
    const { code, stderr } = await command.finished;
    expect(stderr).toContain('the disk is full. Free some space');
    expect(code).toBe(3);
  });
});
