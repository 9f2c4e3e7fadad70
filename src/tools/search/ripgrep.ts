import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { explainStartFailure, PolypodError } from '../../base/index.ts';
import { findProgram, isInside, realPath } from '../policy/index.ts';
import type { ToolContext } from '../tool.ts';

/** Where and with which settings ripgrep runs. */
export interface Ripgrep {
  readonly program: string;
  /** A real directory; results are relative to it. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Makes it find what our own search finds, whatever the user configured: only `.gitignore` and
 * `.git/info/exclude`.
 */
const SETTINGS = [
  '--no-config',
  '--no-messages',
  '--no-require-git',
  '--no-ignore-global',
  '--no-ignore-dot',
  '--sort=path',
  '--null',
  '--color=never',
];

/** Returns ripgrep for a real directory; undefined if it is not installed or too old for our settings. */
export async function findRipgrep(
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<Ripgrep | undefined> {
  const program = await findProgram('rg', env['PATH'] ?? '', realPath);
  // A script, or a program that anyone could have put there, is not used.
  if (program === undefined || program.kind === 'script' || program.kind === 'shim') return undefined;
  if (program.doubt !== undefined || !(await isUsable(program.path))) return undefined;
  return { program: program.path, cwd, env };
}

/**
 * Returns the environment in which ripgrep is looked up: an agent may have put a program into its working
 * directory.
 */
export function searchEnvironment({
  cwd,
  env,
}: Pick<ToolContext, 'cwd' | 'env'>): Readonly<Record<string, string>> {
  const directories = (env['PATH'] ?? '').split(':').filter((directory) => !isInside(cwd, directory));
  return { ...env, PATH: directories.join(':') };
}

/** Checked once for each program. */
const USABLE = new Map<string, Promise<boolean>>();

async function isUsable(program: string): Promise<boolean> {
  const cached = USABLE.get(program);
  if (cached !== undefined) return await cached;
  const check = promisify(execFile)(program, [...SETTINGS, '--version']).then(
    () => true,
    () => false,
  );
  USABLE.set(program, check);
  return await check;
}

/**
 * Runs ripgrep and yields its output in records that end with a separator, as they arrive. It is killed when
 * the reader stops.
 */
export async function* ripgrepRecords(
  { program, cwd, env }: Ripgrep,
  args: readonly string[],
  separator: '\0' | '\n',
  signal: AbortSignal,
): AsyncGenerator<string> {
  signal.throwIfAborted();
  const child = spawn(program, [...SETTINGS, ...args], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = new Promise<number | null>((settle, fail) => {
    child.on('close', settle);
    child.on('error', (thrown) => {
      const { problem, step } = explainStartFailure({ program, cwd, env }, thrown);
      fail(new PolypodError('tool-failed', `The search could not be started: ${problem}; ${step}.`));
    });
  });
  // Awaited below; until then a failed start must not count as unhandled.
  closed.catch(() => {});
  const kill = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', kill);
  let problem = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    problem = (problem + text).slice(0, MAX_PROBLEM);
  });
  try {
    yield* splitRecords(child.stdout, separator);
    signal.throwIfAborted();
    const code = await closed;
    // 1 means no match. 2 without output means an unreadable file.
    if (code === 2 && problem !== '') throw new PolypodError('bad-request', problem.trim());
  } finally {
    signal.removeEventListener('abort', kill);
    kill();
  }
}

/** The parts of an unfinished record are joined once, at its end. */
async function* splitRecords(pieces: AsyncIterable<Buffer>, separator: string): AsyncGenerator<string> {
  let unfinished: Buffer[] = [];
  for await (const piece of pieces) {
    let at = 0;
    for (let end = piece.indexOf(separator); end !== -1; end = piece.indexOf(separator, at)) {
      yield Buffer.concat([...unfinished, piece.subarray(at, end)]).toString('utf8');
      unfinished = [];
      at = end + 1;
    }
    if (at < piece.length) unfinished.push(piece.subarray(at));
  }
  if (unfinished.length > 0) yield Buffer.concat(unfinished).toString('utf8');
}

const MAX_PROBLEM = 2_000;
