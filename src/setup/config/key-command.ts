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
import {
  createKeyCache,
  type Environment,
  type ExpiringKey,
  type KeyCommand,
  usedUntil,
} from '../../llm/index.ts';

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
const TIMEOUT_MS = 60_000;
const MAX_OUTPUT = 64 * 1024;

/**
 * Runs a command that prints a key, and runs it again when the key has expired or was rejected. Concurrent requests share one
 * run. Neither the key nor any other output of the command is part of an error.
 */
export function createKeyCommand(options: KeyCommandOptions): KeyCommand {
  const keys = createKeyCache<Environment>((env, signal) => run(options, env, signal));
  const { command: words, expiresAfterMs } = options;
  return {
    words,
    isToken: true,
    ...withoutUndefined({ expiresAfterMs }),
    ...keys,
  };
}

async function run(
  { command, cwd, source, expiresAfterMs }: KeyCommandOptions,
  env: Environment,
  signal: AbortSignal,
): Promise<ExpiringKey> {
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
function parseKey(output: string, now: number, expiresAfterMs: number, source: string): ExpiringKey {
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
  const expiresAt = stated === undefined ? now + expiresAfterMs : usedUntil(stated, now);
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
