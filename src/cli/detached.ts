import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { messageOf, objectIn } from '../base/index.ts';
import type { Places } from '../daemon/index.ts';
import { EXIT, type ExitCode, type Surroundings } from './command.ts';

interface Wishes {
  readonly offline: boolean;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly 'log-level': string | undefined;
}

const MAIN = fileURLToPath(new URL('main.js', import.meta.url));

/** Starts `polypod serve` in the background. */
export async function serveDetached(
  values: Wishes,
  { dataDirectory }: Places,
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
    around.stderr.write(`polypod: the daemon is up: process ${String(objectIn(started.said)?.pid)}\n`);
  return EXIT.ok;
}

/** What a daemon in the background is told of its caller's wishes. */
export function daemonArguments(values: Pick<Wishes, 'offline' | 'log-level'>): readonly string[] {
  return [
    ...(values.offline ? ['--offline'] : []),
    ...(values['log-level'] === undefined ? [] : ['--log-level', values['log-level']]),
  ];
}

/** Runs a command that hosts a daemon in the background, and waits until it says that it is ready, or ends. */
export async function startDetached(
  command: string,
  args: readonly string[],
  { env, stderr }: Surroundings,
): Promise<{ readonly said: string } | { readonly code: ExitCode }> {
  const child = spawn(process.execPath, [MAIN, ...command.split(' '), '--quiet', '--json', ...args], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env },
  });
  let said = '';
  let complaint = '';
  child.stderr.on('data', (piece: Buffer) => (complaint += piece.toString()));
  const ready = new Promise<'ready'>((resolve) => {
    child.stdout.on('data', (piece: Buffer) => {
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
  child.stdout.destroy();
  child.stderr.destroy();
  child.unref();
  return { said };
}

function exitCodeOf(code: unknown): ExitCode {
  return Object.values(EXIT).find((known) => known === code && known !== EXIT.ok) ?? EXIT.broken;
}
