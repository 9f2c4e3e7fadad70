import { execFile } from 'node:child_process';
import { existsSync, lstatSync, readlinkSync } from 'node:fs';
import { promisify } from 'node:util';
import { messageOf, objectOf, stringOf, unreadablePathNote } from '../../base/index.ts';
import { programOnPath } from './on-path.ts';

/** Whether commands outside the sandbox get their own process namespace, and why not. */
export type IsolationState = { readonly state: 'on' } | { readonly state: 'off'; readonly why: string };

export interface IsolationOptions {
  /** The environment in which bubblewrap is looked up. */
  readonly env: Readonly<Record<string, string>>;
  /** Directories that are empty for the command, and sockets that are missing, if they exist. */
  readonly hidden: () => readonly string[];
}

/** Runs commands so that they see only their own processes. */
export interface Isolation {
  readonly state: () => Promise<IsolationState>;
  /** Returns the command line that runs another one isolated; undefined if isolation does not work. */
  readonly wrap: (
    program: string,
    args: readonly string[],
    cwd: string,
  ) => Promise<readonly [string, readonly string[]] | undefined>;
}

/**
 * Creates a process namespace with bubblewrap: files, network and devices are those of the user, but outside
 * processes are invisible, so neither the environment nor the memory of the daemon can be read from `/proc`.
 * When the command's first process ends, the kernel ends all others with it, wherever they have moved. This is
 * not a sandbox. Programs with the set-user-id bit (sudo) do not work in it.
 */
export function pidNamespace({ env, hidden }: IsolationOptions): Isolation {
  const found = (): Promise<Probe> => {
    const path = env.PATH ?? '';
    const cached = probes.get(path);
    if (cached !== undefined) return cached;
    const probing = probe(env);
    probes.set(path, probing);
    return probing;
  };
  return {
    state: async () => {
      const result = await found();
      return 'why' in result ? { state: 'off', why: result.why } : { state: 'on' };
    },
    wrap: async (program, args, cwd) => {
      const result = await found();
      if ('why' in result) return undefined;
      const { bwrap } = result;
      const masks = hidden().flatMap((path) => maskArguments(path, cwd));
      return [bwrap, [...NAMESPACE, ...masks, '--chdir', cwd, '--', program, ...args]];
    },
  };
}

type Probe = { readonly bwrap: string } | { readonly why: string };

/** Each probe takes about ten milliseconds, and the machine does not change meanwhile. */
const probes = new Map<string, Promise<Probe>>();

const NAMESPACE = [
  '--dev-bind',
  '/',
  '/',
  '--unshare-pid',
  '--proc',
  '/proc',
  // Only root may create a process namespace without a user namespace.
  ...(process.getuid?.() === 0 ? [] : ['--unshare-user']),
];

async function probe(env: Readonly<Record<string, string>>): Promise<Probe> {
  if (process.platform !== 'linux') return { why: 'this system has no process namespaces' };
  const bwrap = await programOnPath('bwrap', env);
  if (bwrap === undefined)
    return { why: `bubblewrap is missing: install the package bubblewrap${unreadablePathNote(env['PATH'])}` };
  try {
    const args = [...NAMESPACE, '--', '/bin/sh', '-c', 'readlink /proc/self/ns/pid'];
    const { stdout } = await promisify(execFile)(bwrap, args, { env, timeout: PROBE_MS });
    if (stdout.startsWith('pid:') && stdout.trim() !== readlinkSync('/proc/self/ns/pid')) return { bwrap };
    return { why: 'bubblewrap did not create a process namespace' };
  } catch (thrown) {
    const [line = ''] = (stringOf(objectOf(thrown)['stderr']) || messageOf(thrown)).trim().split('\n');
    return { why: `bubblewrap does not work on this machine (${line})` };
  }
}

/** A mount over a missing path would create it on disk. */
function maskArguments(path: string, cwd: string): readonly string[] {
  if (!existsSync(path) || `${cwd}/`.startsWith(`${path}/`)) return [];
  return lstatSync(path).isDirectory() ? ['--tmpfs', path] : ['--ro-bind', '/dev/null', path];
}

const PROBE_MS = 10_000;
