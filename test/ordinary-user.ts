import { type ChildProcessWithoutNullStreams, execFileSync, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';

/** A user without any rights on this machine: no entry in /etc/passwd, no group but its own. */
export const ORDINARY_USER = { uid: 1234, gid: 1234 } as const;

/**
 * Only root may start a program as somebody else, and only a Node that others can read. An ordinary user runs every test as
 * one anyway.
 */
export const canBecomeOrdinaryUser =
  process.getuid?.() === 0 &&
  spawnSync(process.execPath, ['--version'], { ...ORDINARY_USER, cwd: '/' }).status === 0;

/** As whom the tests of the built program are run: `{}` is the user who runs the tests. */
export const USERS: readonly { readonly name: string; readonly identity: Identity }[] = [
  { name: process.getuid?.() === 0 ? 'root' : 'this user', identity: {} },
  ...(canBecomeOrdinaryUser ? [{ name: 'uid 1234', identity: ORDINARY_USER }] : []),
];

/** For the options of `spawn`. */
export type Identity = { readonly uid?: number; readonly gid?: number };

/** A directory that belongs to the user and that nobody else may enter. It is removed after the test. */
export function homeOf(identity: Identity): string {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-user-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  chmodSync(directory, 0o700);
  giveTo(identity, directory);
  return directory;
}

/** Gives a file, or a directory with everything in it, to the user. Links are not followed. */
export function giveTo({ uid, gid }: Identity, path: string): void {
  if (uid === undefined || gid === undefined) return;
  if (lstatSync(path).isSymbolicLink()) return;
  chownSync(path, uid, gid);
  if (!lstatSync(path).isDirectory()) return;
  for (const name of readdirSync(path)) giveTo({ uid, gid }, join(path, name));
}

/** Starts the built program as the user, with nothing of this machine's settings. `env.HOME` must belong to the user. */
export function startAs(
  identity: Identity,
  args: readonly string[],
  env: Readonly<Record<string, string>> & { readonly HOME: string },
  cwd = env.HOME,
): ChildProcessWithoutNullStreams {
  const child = spawn(process.execPath, [builtProgramFor(identity), ...args], {
    ...identity,
    cwd,
    // Nothing listens on this port, so no Ollama is found, even if one runs on this machine.
    env: { PATH: SYSTEM_PATH, OLLAMA_HOST: 'http://127.0.0.1:9', ...env },
  });
  onTestFinished(async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.kill('SIGKILL')) await ended;
  });
  return child;
}

/** Runs the built program as the user until it ends. */
export async function polypodAs(
  identity: Identity,
  args: readonly string[],
  env: Readonly<Record<string, string>> & { readonly HOME: string },
  { cwd = env.HOME, input = '' }: { readonly cwd?: string; readonly input?: string } = {},
): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }> {
  const child = startAs(identity, args, env, cwd);
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const code = await new Promise<number | null>((settle) => {
    child.on('close', settle);
  });
  return { code, stdout, stderr };
}

/** Directories in the home of root are of no use to another user. */
const SYSTEM_PATH = (process.env.PATH ?? '')
  .split(':')
  .filter((directory) => !directory.startsWith('/root'))
  .join(':');

let copied: string | undefined;

/** The built program where the user can read it: a copy if the project's directory is closed to others. */
export function builtProgramFor(identity: Identity): string {
  const built = resolve('dist/cli/main.js');
  if (identity.uid === undefined) return built;
  if (copied === undefined) copied = isReadableFor(identity, built) ? built : copyOfProgram();
  return copied;
}

function isReadableFor(identity: Identity, path: string): boolean {
  return spawnSync('cat', [path], { ...identity, stdio: 'ignore', cwd: '/' }).status === 0;
}

function copyOfProgram(): string {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-built-'));
  process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
  const listed = execFileSync('npm', ['ls', '--omit=dev', '--all', '--parseable'], { encoding: 'utf8' });
  const [root = resolve('.'), ...modules] = listed.trim().split('\n');
  for (const path of ['dist', 'package.json', ...modules.map((module) => module.slice(root.length + 1))]) {
    mkdirSync(join(directory, path, '..'), { recursive: true });
    cpSync(join(root, path), join(directory, path), { recursive: true });
  }
  execFileSync('chmod', ['-R', 'a+rX', directory]);
  return join(directory, 'dist/cli/main.js');
}
