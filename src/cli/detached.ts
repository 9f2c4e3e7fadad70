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

/** Starts a daemon in the background and waits until it says that it is ready, or ends. */
export async function serveDetached(
  values: Wishes,
  { dataDirectory }: Places,
  { env, stdout, stderr }: Surroundings,
): Promise<ExitCode> {
  const args = [
    'serve',
    '--quiet',
    '--json',
    '--data-dir',
    dataDirectory,
    ...(values.offline ? ['--offline'] : []),
    ...(values['log-level'] === undefined ? [] : ['--log-level', values['log-level']]),
  ];
  const child = spawn(process.execPath, [MAIN, ...args], {
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
    complaint = `polypod serve: ${messageOf(thrown)}\n`;
    return [EXIT.broken];
  });
  const first = await Promise.race([ready, ended]);
  if (first !== 'ready') {
    stderr.write(
      complaint === '' ? 'polypod serve: it ended before it was ready; see polypod logs\n' : complaint,
    );
    return exitCodeOf(first[0]);
  }
  if (values.json) stdout.write(said);
  else if (!values.quiet) stderr.write(`polypod: the daemon is up: process ${String(objectIn(said)?.pid)}\n`);
  child.stdout.destroy();
  child.stderr.destroy();
  child.unref();
  return EXIT.ok;
}

function exitCodeOf(code: unknown): ExitCode {
  return Object.values(EXIT).find((known) => known === code && known !== EXIT.ok) ?? EXIT.broken;
}
