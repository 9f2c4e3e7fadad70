import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { tryOrUndefined } from '../../base/index.ts';

/** A process that has not ended. */
export interface RunningProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** 0 if the system does not report it. */
  readonly session: number;
  /**
   * When it started, in the system's own unit; 0 if not reported. Together with the pid it identifies a
   * process.
   */
  readonly start: number;
  /** Whether it has begun to exit: it runs no more code of its program, and ends without a signal. */
  readonly isExiting: boolean;
  /** A live thread, if the main thread has ended: the system then reports the process's files there only. */
  readonly thread?: number;
}

/** Lists the processes of this machine, from `/proc` or else from `ps`. */
export async function listProcesses(): Promise<readonly RunningProcess[]> {
  return process.platform === 'linux' ? await listProc() : await listPs();
}

async function listProc(): Promise<readonly RunningProcess[]> {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const processes: RunningProcess[] = [];
  for (const [index, pid] of pids.entries()) {
    // Each takes 20 to 50 microseconds: with thousands of them, yield to other work.
    if (index % 100 === 99) await setImmediate();
    const running = findProcess(Number(pid));
    if (running !== undefined) processes.push(running);
  }
  return processes;
}

/** Lists the processes of this machine synchronously. Linux only. */
export function listProcessesNow(): readonly RunningProcess[] {
  return readdirSync('/proc').flatMap((name) => {
    const running = /^\d+$/.test(name) ? findProcess(Number(name)) : undefined;
    return running === undefined ? [] : [running];
  });
}

/**
 * Returns undefined for a process that has ended, including a zombie. A process whose main thread has ended looks
 * like a zombie, but its other threads run on.
 */
export function findProcess(pid: number, proc = '/proc'): RunningProcess | undefined {
  const fields = statFields(`${proc}/${pid}/stat`);
  if (fields === undefined || fields.state === 'X') return undefined;
  const { state, threads, flags, ...rest } = fields;
  const hasExited = state === 'Z';
  if (!hasExited && (flags & PF_EXITING) === 0) return { pid, ...rest, isExiting: false };
  const thread = threads > 1 ? liveThread(`${proc}/${pid}/task`) : undefined;
  if (thread !== undefined) return { pid, ...rest, isExiting: false, thread };
  return hasExited ? undefined : { pid, ...rest, isExiting: true };
}

function liveThread(directory: string): number | undefined {
  const threads = tryOrUndefined(() => readdirSync(directory)) ?? [];
  return threads.map(Number).find((thread) => {
    const { state, flags } = statFields(`${directory}/${thread}/stat`) ?? { state: 'X', flags: 0 };
    return state !== 'Z' && state !== 'X' && (flags & PF_EXITING) === 0;
  });
}

/** From the kernel's sched.h. */
const PF_EXITING = 0x4;

function statFields(path: string) {
  const text = tryOrUndefined(() => readFileSync(path, 'latin1'));
  if (text === undefined) return undefined;
  // The name in parentheses may contain anything.
  const [state, parent, group, session, ...more] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return {
    state,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    flags: Number(more[2]),
    threads: Number(more[13]),
    start: Number(more[15]),
  };
}

/** For systems without `/proc`. */
export async function listPs(): Promise<readonly RunningProcess[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,pgid=,stat='], {
    maxBuffer: 64 * 1024 * 1024,
  });
  return stdout.split('\n').flatMap((line) => {
    const [pid, parent, group, state] = line.trim().split(/\s+/);
    if (!pid || state?.startsWith('Z')) return [];
    const ids = { pid: Number(pid), parent: Number(parent), group: Number(group) };
    return [{ ...ids, session: 0, start: 0, isExiting: state?.includes('E') === true }];
  });
}

/** Returns whether the process was started with this text in its environment. Linux only. */
export function hasInEnvironment(process: RunningProcess, text: string): boolean {
  return tryOrUndefined(() => readFileSync(`${directoryOf(process)}/environ`))?.includes(text) ?? false;
}

/** Returns whether the process has a file open with one of these in its path, even if deleted. Linux only. */
export function hasOpen(process: RunningProcess, parts: readonly string[]): boolean {
  const directory = `${directoryOf(process)}/fd`;
  const descriptors = tryOrUndefined(() => readdirSync(directory)) ?? [];
  return descriptors.some((descriptor) => {
    const path = tryOrUndefined(() => readlinkSync(`${directory}/${descriptor}`)) ?? '';
    return parts.some((part) => path.includes(part));
  });
}

/** Returns the command line of a process for display; empty if the system does not report it. */
export function processCommandLine(process: RunningProcess): string {
  const text = tryOrUndefined(() => readFileSync(`${directoryOf(process)}/cmdline`, 'utf8')) ?? '';
  return text.replaceAll('\0', ' ').trim();
}

function directoryOf({ pid, thread }: RunningProcess): string {
  return thread === undefined ? `/proc/${pid}` : `/proc/${pid}/task/${thread}`;
}
