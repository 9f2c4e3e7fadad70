import { spawn } from 'node:child_process';
import {
  explainStartFailure,
  numberOf,
  onAbort,
  parseObject,
  PolypodError,
  stringOf,
  withoutUndefined,
} from '../../base/index.ts';
import type { Environment, KeyCommand } from '../../llm/index.ts';

export interface KeyCommandOptions {
  /** The program and its arguments. No shell is involved. */
  readonly command: readonly string[];
  /** How long a key is used if the command does not state when it expires. */
  readonly expiresAfterMs?: number;
  readonly cwd: string;
  /** The setting that names the command, for errors. */
  readonly source: string;
}

/** Like the helper commands of other agents. A rejected key is renewed earlier. */
const DEFAULT_EXPIRES_AFTER_MS = 5 * 60_000;
/** A key that expires so soon is renewed, so that it does not expire on its way. */
const MARGIN_MS = 30_000;
const TIMEOUT_MS = 60_000;
const MAX_OUTPUT = 64 * 1024;

interface StatedKey {
  readonly key: string;
  readonly expiresAt: number;
}

/**
 * Runs a command that prints a key, and runs it again when the key has expired or was rejected. Concurrent requests share one
 * run. Neither the key nor any other output of the command is part of an error.
 */
export function createKeyCommand(options: KeyCommandOptions): KeyCommand {
  let current: StatedKey | undefined;
  let running: SharedRun | undefined;
  const obtain = async (env: Environment, signal: AbortSignal): Promise<string> => {
    const shared = (running ??= startRun(options, env, () => (running = undefined)));
    current = await shared.join(signal);
    return current.key;
  };
  const { command: words, expiresAfterMs } = options;
  return {
    words,
    isToken: true,
    ...withoutUndefined({ expiresAfterMs }),
    key: async (env, signal) =>
      current !== undefined && Date.now() < current.expiresAt ? current.key : obtain(env, signal),
    renew: async (rejected, env, signal) =>
      current !== undefined && current.key !== rejected ? current.key : obtain(env, signal),
  };
}

interface SharedRun {
  /** Waits for the key. When every waiting caller has cancelled, the command is ended. */
  readonly join: (signal: AbortSignal) => Promise<StatedKey>;
}

function startRun(options: KeyCommandOptions, env: Environment, onEnd: () => void): SharedRun {
  const abandoned = new AbortController();
  const key = run(options, env, abandoned.signal).finally(onEnd);
  let waiting = 0;
  return {
    join: (signal) =>
      new Promise((resolve, reject) => {
        waiting += 1;
        const removeListener = onAbort(signal, () => {
          waiting -= 1;
          if (waiting === 0) abandoned.abort();
          reject(new PolypodError('bad-request', 'cancelled'));
        });
        key.then(resolve, reject).finally(removeListener);
      }),
  };
}

async function run(
  { command, cwd, source, expiresAfterMs }: KeyCommandOptions,
  env: Environment,
  signal: AbortSignal,
): Promise<StatedKey> {
  const output = await outputOf(command, { cwd, env, source, signal });
  return parseKey(output, Date.now(), expiresAfterMs ?? DEFAULT_EXPIRES_AFTER_MS, source);
}

interface OutputOptions extends Pick<KeyCommandOptions, 'cwd' | 'source'> {
  readonly env: Environment;
  readonly signal: AbortSignal;
}

function outputOf(
  [program = '', ...args]: readonly string[],
  { cwd, env, source, signal }: OutputOptions,
): Promise<string> {
  const fail = (what: string, next: string): PolypodError =>
    new PolypodError('bad-request', `the program "${program}" of ${source} ${what}: ${next}`);
  const runItself = 'run the command in a terminal to see why';
  return new Promise((resolve, reject) => {
    // Its own process group, so that a time-out also ends what the command has started.
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
    let output = '';
    const end = (error: PolypodError): void => {
      reject(error);
      child.stdout.destroy();
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It has ended already.
      }
    };
    onAbort(signal, () => end(fail('was ended', 'the request was cancelled')));
    const timer = setTimeout(
      () => end(fail(`did not end within ${TIMEOUT_MS / 1000} s`, runItself)),
      TIMEOUT_MS,
    );
    child.on('error', (error) => {
      clearTimeout(timer);
      const { problem, step } = explainStartFailure({ program, cwd, env }, error);
      reject(new PolypodError('bad-request', `the program of ${source} cannot run: ${problem}; ${step}`));
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.length > MAX_OUTPUT) end(fail('printed more than a key', 'it must print the key only'));
    });
    child.on('close', (code, killedBy) => {
      clearTimeout(timer);
      if (code === 0) resolve(output);
      else reject(fail(`ended with ${killedBy ?? `exit code ${code}`}`, runItself));
    });
  });
}

/**
 * The output is the key, or JSON with the key and when it expires, in the names that common tools use: `key`, `token`,
 * `access_token` or `accessToken`; `expires_at` or `expires_on` as a time or in seconds since 1970, or `expires_in` in seconds.
 */
function parseKey(output: string, now: number, expiresAfterMs: number, source: string): StatedKey {
  const json = output.trimStart().startsWith('{') ? parseObject(output) : undefined;
  const named =
    json && [json.key, json.token, json.access_token, json.accessToken].map(stringOf).find(Boolean);
  const key = (json === undefined ? output : (named ?? '')).trim();
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new PolypodError(
      'bad-request',
      `the command of ${source} printed no key: it must print one line with the key, or JSON such as {"key": "…", "expires_at": "…"}`,
    );
  const stated = json && expiryOf(json, now);
  const expiresAt = stated === undefined ? now + expiresAfterMs : Math.max(now + 1000, stated - MARGIN_MS);
  return { key, expiresAt };
}

function expiryOf(json: Readonly<Record<string, unknown>>, now: number): number | undefined {
  const seconds = numberOf(json.expires_in);
  if (seconds !== undefined) return now + seconds * 1000;
  const at = json.expires_at ?? json.expires_on;
  if (typeof at === 'number' || /^\d+$/.test(stringOf(at))) return Number(at) * 1000;
  const time = Date.parse(stringOf(at));
  return Number.isNaN(time) ? undefined : time;
}
