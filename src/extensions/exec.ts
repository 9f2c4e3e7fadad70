import { withoutUndefined } from '../base/index.ts';
import { spawn } from 'node:child_process';

export interface ExecOptions {
  readonly cwd?: string;
  readonly signal?: AbortSignal;
  /** In milliseconds. */
  readonly timeout?: number;
}

export interface ExecResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
  readonly killed: boolean;
}

/** Runs a program for an extension, without a shell. Failures are part of the result. */
export function exec(
  command: string,
  args: readonly string[],
  { cwd, signal, timeout }: ExecOptions,
): Promise<ExecResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      cwd,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...withoutUndefined({ signal, timeout }),
    });
    const [stdout, stderr]: [string[], string[]] = [[], []];
    child.stdout.setEncoding('utf8').on('data', (text: string) => stdout.push(text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => stderr.push(text));
    const end = (code: number | null, reason = ''): void =>
      resolve({
        stdout: stdout.join(''),
        stderr: stderr.join('') + reason,
        code: code ?? 1,
        killed: child.killed,
      });
    child.on('error', ({ message }) => end(1, message));
    child.on('close', (code) => end(code));
  });
}
