import { execFile } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { promisify } from 'node:util';
import { messageOf, objectOf, PolypodError, stringOf } from '../base/index.ts';
import { ifThere } from './missing-file.ts';
import { programOnPath } from './on-path.ts';
import type { Sandbox } from './tool.ts';

export interface SandboxOptions {
  /** The directories that may be written to, with all that is in them. */
  readonly writable: readonly string[];
  /** Directories that are empty inside, if there are any: with the socket of a daemon a command could do more than it may. */
  readonly hidden: readonly string[];
  /** Where bubblewrap is looked for. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * A sandbox by bubblewrap: all files can be read, but only those in the writable directories be changed; `/tmp` and `/run`
 * are its own; there is no network and no process of the outside. Refuses with `denied` when it does not work on this
 * machine: nothing is ever run without it instead.
 */
export async function bubblewrapSandbox({ writable, hidden, env }: SandboxOptions): Promise<Sandbox> {
  const bwrap = await programOnPath('bwrap', env);
  if (bwrap === undefined)
    throw new PolypodError(
      'denied',
      'The sandbox needs bubblewrap: install the package bubblewrap, which brings bwrap.',
    );
  const writes = await Promise.all(writable.map(realDirectory));
  const hides = (await Promise.all(hidden.map((directory) => ifThere(realpath(directory))))).filter(
    (directory) => directory !== undefined,
  );
  const sandbox: Sandbox = {
    wrap: (program, args, cwd) => [
      bwrap,
      [...FIXED, ...mountsOf(writes, hides, cwd), '--chdir', cwd, '--', program, ...args],
    ],
  };
  await probe(sandbox, env);
  return sandbox;
}

const FIXED = [
  '--ro-bind / / --dev /dev --proc /proc',
  // Sockets can be used on a read-only file system, and a container engine's would be a way out.
  '--tmpfs /tmp --tmpfs /run --ro-bind-try /run/current-system /run/current-system',
  '--unshare-net --unshare-pid --unshare-ipc --unshare-uts --cap-drop ALL',
  '--die-with-parent --new-session',
].flatMap((options) => options.split(' '));

/** Outer directories first, so that what is said of an inner one holds. */
function mountsOf(writable: readonly string[], hidden: readonly string[], cwd: string): readonly string[] {
  const isWritable = writable.some((directory) => `${cwd}/`.startsWith(`${directory}/`));
  const mounts = [
    // It may be in `/tmp`, where it would not be seen.
    ...(isWritable ? [] : [['--ro-bind', cwd, cwd]]),
    ...hidden.map((directory) => ['--tmpfs', directory]),
    ...writable.map((directory) => ['--bind', directory, directory]),
    // What git would run later, outside of the sandbox.
    ...writable
      .flatMap((directory) => [`${directory}/.git/hooks`, `${directory}/.git/config`])
      .map((path) => ['--ro-bind-try', path, path]),
  ];
  return mounts.toSorted(([, one = ''], [, other = '']) => one.length - other.length).flat();
}

async function realDirectory(directory: string): Promise<string> {
  try {
    return await realpath(directory);
  } catch (thrown) {
    const why = `The sandbox cannot make ${directory} writable: ${messageOf(thrown)}. Name a directory that is there.`;
    throw new PolypodError('denied', why, { cause: thrown });
  }
}

async function probe({ wrap }: Sandbox, env: Readonly<Record<string, string>>): Promise<void> {
  const [program, args] = wrap('/bin/sh', ['-c', ':'], '/');
  try {
    await promisify(execFile)(program, args, { env, timeout: PROBE_MS });
  } catch (thrown) {
    throw new PolypodError('denied', refusalText(stringOf(objectOf(thrown)['stderr']) || messageOf(thrown)), {
      cause: thrown,
    });
  }
}

function refusalText(problem: string): string {
  const [line = ''] = problem.trim().split('\n');
  const isForbidden = /namespace|uid map|permission|not permitted/i.test(line);
  const next = isForbidden
    ? 'The system does not let programs make namespaces: set kernel.unprivileged_userns_clone=1, on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0, or in a container allow them.'
    : 'Check the installed package bubblewrap.';
  return `The sandbox does not work on this machine (${line}). ${next}`;
}

const PROBE_MS = 10_000;
