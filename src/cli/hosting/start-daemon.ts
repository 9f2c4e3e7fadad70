import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { messageOf, parseObject, PolypodError } from '../../base/index.ts';
import type { DataPaths } from '../../setup/index.ts';
import { EXIT, type ExitCode, type CommandContext } from '../command.ts';
import { splitEnvironment } from '../secret-environment.ts';

interface DaemonOptions {
  readonly offline: boolean;
  readonly sandbox: boolean;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly 'log-level': string | undefined;
}

const MAIN = fileURLToPath(new URL('main.js', import.meta.url));

/** Starts `polypod serve` in the background. */
export async function serveDetached(
  values: DaemonOptions,
  { dataDirectory }: DataPaths,
  context: CommandContext,
): Promise<ExitCode> {
  const started = await startDetached(
    'serve',
    ['--data-dir', dataDirectory, ...daemonArguments(values)],
    context,
  );
  if ('code' in started) return started.code;
  if (values.json) context.stdout.write(started.output);
  else if (!values.quiet)
    context.stderr.write(`polypod: the daemon is up: process ${String(parseObject(started.output)?.pid)}\n`);
  return EXIT.ok;
}

/** The arguments that pass the caller's options to a daemon in the background. */
export function daemonArguments(
  values: Pick<DaemonOptions, 'offline' | 'sandbox' | 'log-level'>,
): readonly string[] {
  return [
    ...(values.offline ? ['--offline'] : []),
    ...(values.sandbox ? ['--sandbox'] : []),
    ...(values['log-level'] === undefined ? [] : ['--log-level', values['log-level']]),
  ];
}

/** Runs a command that hosts a daemon in the background, and waits until it is ready or has failed. */
export async function startDetached(
  command: string,
  args: readonly string[],
  { env, stderr }: CommandContext,
): Promise<{ readonly output: string } | { readonly code: ExitCode }> {
  const { open, secret } = splitEnvironment(env);
  const child = spawn(process.execPath, [MAIN, ...command.split(' '), '--quiet', '--json', ...args], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: open,
  });
  const secrets = child.stdio[3];
  if (secrets instanceof Writable) {
    // A process that failed to start does not read; its own error has the reason.
    secrets.on('error', () => {});
    secrets.end(JSON.stringify(secret));
  }
  const { stdout, stderr: errors } = child;
  if (stdout === null || errors === null) throw new PolypodError('internal', 'a pipe is missing');
  let output = '';
  let errorText = '';
  errors.on('data', (piece: Buffer) => (errorText += piece.toString()));
  const ready = new Promise<'ready'>((resolve) => {
    stdout.on('data', (piece: Buffer) => {
      output += piece.toString();
      if (output.includes('\n')) resolve('ready');
    });
  });
  const ended = once(child, 'close').catch((thrown: unknown) => {
    errorText = `polypod ${command}: ${messageOf(thrown)}\n`;
    return [EXIT.broken];
  });
  const first = await Promise.race([ready, ended]);
  if (first !== 'ready') {
    stderr.write(
      errorText === '' ? `polypod ${command}: it ended before it was ready; see polypod logs\n` : errorText,
    );
    return { code: exitCodeOf(first[0]) };
  }
  stdout.destroy();
  errors.destroy();
  child.unref();
  return { output };
}

function exitCodeOf(code: unknown): ExitCode {
  return Object.values(EXIT).find((known) => known === code && known !== EXIT.ok) ?? EXIT.broken;
}
