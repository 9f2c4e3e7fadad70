import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';

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

/** Returns undefined for a process that has ended, including a zombie. */
export function findProcess(pid: number): RunningProcess | undefined {
  const text = ifAccessible(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  if (text === undefined) return undefined;
  // The name in parentheses may contain anything.
  const [state, parent, group, session, ...more] = text.slice(text.lastIndexOf(')') + 2).split(' ');
  if (state === 'Z' || state === 'X') return undefined;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
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
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), session: 0, start: 0 }];
  });
}

/** Returns whether the process was started with this text in its environment. Linux only. */
export function hasInEnvironment(pid: number, text: string): boolean {
  return ifAccessible(() => readFileSync(`/proc/${pid}/environ`))?.includes(text) ?? false;
}

/** Returns whether the process has a file open with one of these in its path, even if deleted. Linux only. */
export function hasOpen(pid: number, parts: readonly string[]): boolean {
  const descriptors = ifAccessible(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
  return descriptors.some((descriptor) => {
    const path = ifAccessible(() => readlinkSync(`/proc/${pid}/fd/${descriptor}`)) ?? '';
    return parts.some((part) => path.includes(part));
  });
}

/** Returns the command line of a process for display; empty if the system does not report it. */
export function processCommandLine(pid: number): string {
  const text = ifAccessible(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? '';
  return text.replaceAll('\0', ' ').trim();
}

/** Processes end while they are examined, and those of other users are not accessible. */
function ifAccessible<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
