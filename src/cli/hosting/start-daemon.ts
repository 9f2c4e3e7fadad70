import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { messageOf, parseObject, PolypodError } from '../../base/index.ts';
import type { DataPaths } from '../../setup/index.ts';
import { EXIT, type ExitCode, type Surroundings } from '../command.ts';
import { splitEnvironment } from '../secret-environment.ts';

interface Wishes {
  readonly offline: boolean;
  readonly sandbox: boolean;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly 'log-level': string | undefined;
}

const MAIN = fileURLToPath(new URL('main.js', import.meta.url));

/** Starts `polypod serve` in the background. */
export async function serveDetached(
  values: Wishes,
  { dataDirectory }: DataPaths,
  around: Surroundings,
): Promise<ExitCode> {
  const started = await startDetached(
    'serve',
    ['--data-dir', dataDirectory, ...daemonArguments(values)],
    around,
  );
  if ('code' in started) return started.code;
  if (values.json) around.stdout.write(started.said);
  else if (!values.quiet)
    around.stderr.write(`polypod: the daemon is up: process ${String(parseObject(started.said)?.pid)}\n`);
  return EXIT.ok;
}

/** The arguments that pass the caller's options to a daemon in the background. */
export function daemonArguments(
  values: Pick<Wishes, 'offline' | 'sandbox' | 'log-level'>,
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
  { env, stderr }: Surroundings,
): Promise<{ readonly said: string } | { readonly code: ExitCode }> {
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
  const { stdout: output, stderr: errors } = child;
  if (output === null || errors === null) throw new PolypodError('internal', 'a pipe is missing');
  let said = '';
  let complaint = '';
  errors.on('data', (piece: Buffer) => (complaint += piece.toString()));
  const ready = new Promise<'ready'>((resolve) => {
    output.on('data', (piece: Buffer) => {
      said += piece.toString();
      if (said.includes('\n')) resolve('ready');
    });
  });
  const ended = once(child, 'close').catch((thrown: unknown) => {
    complaint = `polypod ${command}: ${messageOf(thrown)}\n`;
    return [EXIT.broken];
  });
  const first = await Promise.race([ready, ended]);
  if (first !== 'ready') {
    stderr.write(
      complaint === '' ? `polypod ${command}: it ended before it was ready; see polypod logs\n` : complaint,
    );
    return { code: exitCodeOf(first[0]) };
  }
  output.destroy();
  errors.destroy();
  child.unref();
  return { said };
}

function exitCodeOf(code: unknown): ExitCode {
  return Object.values(EXIT).find((known) => known === code && known !== EXIT.ok) ?? EXIT.broken;
}
