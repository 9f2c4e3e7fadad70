import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { onTestFinished } from 'vitest';
import { builtProgramFor, canBecomeOrdinaryUser, ORDINARY_USER } from '../ordinary-user.ts';

/** Runs the built program like a user: its own process, its own home directory, no settings of this machine. */
export const MAIN = resolve('dist/cli/main.js');

export interface Finished {
  /** The exit code, or the signal that ended it. */
  readonly code: number | NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcessWithoutNullStreams;
  readonly finished: Promise<Finished>;
  /** Resolves when stdout or stderr contains the text. */
  waitForOutput(text: string): Promise<void>;
  /** The output so far. */
  output(): { readonly stdout: string; readonly stderr: string };
}

/** The user that a process runs as; if empty, the user that runs the tests. */
export interface User {
  readonly uid?: number;
  readonly gid?: number;
}

/** The users as which a test can run the built program; if the tests run as root, also an ordinary user. */
export const USERS: readonly (readonly [name: string, user: User])[] = [
  ['this user', {}],
  ...(canBecomeOrdinaryUser ? [['an ordinary user', ORDINARY_USER] as const] : []),
];

export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-'));
  // A detached process that was asked to stop may still remove its own files.
  onTestFinished(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }));
  return directory;
}

/** Resolves when the killed process has ended: until then it may write to directories that the test removes next. */
export async function killAndWait(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
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
  onTestFinished(() => killAndWait(child));
  let stdout = '';
  let stderr = '';
  let wake = (): void => {};
  let end: Finished['code'] = null;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    wake();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    wake();
  });
  const finished = new Promise<Finished>((settle) => {
    child.on('close', (code, signal) => {
      end = code ?? signal;
      settle({ code: end, stdout, stderr });
      wake();
    });
  });
  return {
    child,
    finished,
    output: () => ({ stdout, stderr }),
    async waitForOutput(text) {
      while (!stdout.includes(text) && !stderr.includes(text)) {
        if (end !== null) throw new Error(`ended with ${end} without "${text}": ${stdout}${stderr}`);
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
