import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { arrayOf, objectOf, stringOf } from '../../src/base/index.ts';
import { controlSocket, dataPathsFrom } from '../../src/setup/index.ts';
import { MAIN, temporaryDirectory } from '../cli/polypod.ts';
import { connectLines } from '../doors/lines.ts';

/** Whether this user may mount a separate disk. */
export const canMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

export interface SmallDisk {
  readonly env: Readonly<Record<string, string>>;
  readonly home: string;
  /** A key of the tasks door. */
  readonly key: string;
  /** The address of the tasks door. */
  readonly url: string;
  readonly hldSocket: string;
  /** Fills the disk of the data directory. */
  readonly fill: () => void;
  /** Frees the space again. */
  readonly free: () => void;
  readonly podSocket: (name: string) => string;
}

/** Starts a daemon whose data directory is a separate small disk. */
export async function daemonOnSmallDisk(): Promise<SmallDisk> {
  const home = temporaryDirectory();
  const [data, run] = [join(home, 'data'), join(home, 'run')];
  for (const directory of [data, run]) mkdirSync(directory, { mode: 0o700 });
  const config = join(home, 'config.yaml');
  const keys = [{ env: 'SMALL_DISK_KEY', owner: 'ada', scopes: ['admin'] }];
  // JSON is YAML.
  writeFileSync(config, JSON.stringify({ tasks: { port: 0, directory: home, keys } }), { mode: 0o600 });
  const key = 'a-key-for-a-small-disk';
  const env = {
    HOME: home,
    POLYPOD_CONFIG: config,
    POLYPOD_DATA_DIR: data,
    POLYPOD_RUNTIME_DIR: run,
    SMALL_DISK_KEY: key,
  };
  const mount = 'mount -t tmpfs -o size=8m,mode=700 tmpfs "$POLYPOD_DATA_DIR" && exec "$0" "$@"';
  const daemon = spawn(
    'unshare',
    ['-rm', 'sh', '-c', mount, process.execPath, MAIN, 'serve', '--json', '--offline'],
    { cwd: home, env: { ...env, PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'ignore'] },
  );
  onTestFinished(() => void daemon.kill('SIGKILL'));
  await once(daemon.stdout, 'data');
  return {
    env,
    home,
    key,
    url: await tasksAddress(controlSocket(dataPathsFrom(env))),
    hldSocket: join(home, '.humanlayer/daemon.sock'),
    fill: () => fillDisk(fillerOf(daemon, data)),
    free: () => rmSync(fillerOf(daemon, data)),
    podSocket: (name) => join(run, 'pods', `${name}.sock`),
  };
}

async function tasksAddress(control: string): Promise<string> {
  const link = await connectLines(control);
  link.send({ method: 'status', params: {} });
  const { result } = await link.next((line) => 'result' in line);
  link.close();
  const doors = arrayOf(objectOf(result).doors).map(objectOf);
  return stringOf(objectOf(doors.find(({ name }) => name === 'tasks')?.details).url);
}

/** The disk is visible only in the mount namespace of the daemon's process. */
function fillerOf({ pid }: ChildProcess, directory: string): string {
  return `/proc/${pid}/root${directory}/filler`;
}

function fillDisk(path: string): void {
  for (let size = 1024 * 1024; size >= 512; size /= 2)
    try {
      for (;;) appendFileSync(path, Buffer.alloc(size));
    } catch {
      // Not enough space for this size.
    }
}
