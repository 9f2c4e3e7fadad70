import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { builtProgramFor, canBecomeOrdinaryUser, ORDINARY_USER } from '../ordinary-user.ts';

/** The built program, as a user runs it: its own process, its own home, nothing of this machine's settings. */
export const MAIN = resolve('dist/cli/main.js');

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcessWithoutNullStreams;
  readonly finished: Promise<Finished>;
  /** Resolves once stdout or stderr holds the text. */
  waitForOutput(text: string): Promise<void>;
  /** What it has said so far. */
  output(): { readonly stdout: string; readonly stderr: string };
}

/** The user that a process runs as; the one that runs the tests if it is empty. */
export interface User {
  readonly uid?: number;
  readonly gid?: number;
}

/** The users as whom a test can run the built program: with root's rights also an ordinary one. */
export const USERS: readonly (readonly [name: string, user: User])[] = [
  ['this user', {}],
  ...(canBecomeOrdinaryUser ? [['an ordinary user', ORDINARY_USER] as const] : []),
];

export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-'));
  // A process that was just killed may still write there: what it leaves is removed as well.
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  return directory;
}

export function start(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  user: User = {},
): Running {
  const home = env.HOME ?? temporaryDirectory();
  const child = spawn(process.execPath, [builtProgramFor(user), ...args], {
    cwd: home,
    ...user,
    // Nothing listens on this port, so no Ollama is found, even if one runs on this machine.
    env: { PATH: process.env.PATH, HOME: home, OLLAMA_HOST: 'http://127.0.0.1:9', ...env },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stdout = '';
  let stderr = '';
  let wake = (): void => {};
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    wake();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    wake();
  });
  const finished = new Promise<Finished>((settle) => {
    child.on('close', (code) => settle({ code, stdout, stderr }));
  });
  return {
    child,
    finished,
    output: () => ({ stdout, stderr }),
    async waitForOutput(text) {
      while (!stdout.includes(text) && !stderr.includes(text)) {
        await new Promise<void>((settle) => {
          wake = settle;
        });
      }
    },
  };
}

export async function polypod(
  args: readonly string[],
  {
    env = {},
    input = '',
    user = {},
  }: { env?: Readonly<Record<string, string>>; input?: string; user?: User } = {},
): Promise<Finished> {
  const { child, finished } = start(args, env, user);
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  return finished;
}
