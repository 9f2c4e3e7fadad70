import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';

/** A process that has not ended. */
export interface RunningProcess {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** 0 where the system does not tell. */
  readonly session: number;
  /** When it started, in the system's own unit; 0 where it does not tell. With the pid it names a process for good. */
  readonly start: number;
}

/** The processes of this machine, from `/proc` or else from `ps`. */
export async function listProcesses(): Promise<readonly RunningProcess[]> {
  return process.platform === 'linux' ? await listProc() : await listPs();
}

async function listProc(): Promise<readonly RunningProcess[]> {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const processes: RunningProcess[] = [];
  for (const [index, pid] of pids.entries()) {
    // Each costs 20 to 50 microseconds: with thousands of them others must get their turn.
    if (index % 100 === 99) await setImmediate();
    const running = processOf(Number(pid));
    if (running !== undefined) processes.push(running);
  }
  return processes;
}

/** The processes of this machine, without waiting. Linux only. */
export function listProcessesNow(): readonly RunningProcess[] {
  return readdirSync('/proc').flatMap((name) => {
    const running = /^\d+$/.test(name) ? processOf(Number(name)) : undefined;
    return running === undefined ? [] : [running];
  });
}

/** Undefined for a process that has ended, also when nobody has taken notice of its end yet. */
export function processOf(pid: number): RunningProcess | undefined {
  const text = unlessGone(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  if (text === undefined) return undefined;
  // The name in parentheses may hold anything.
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

/** Whether the process was started with this text somewhere in its environment. Linux only. */
export function hasInEnvironment(pid: number, text: string): boolean {
  return unlessGone(() => readFileSync(`/proc/${pid}/environ`))?.includes(text) ?? false;
}

/** Whether the process has a file open with one of these in its path, also if it is deleted. Linux only. */
export function hasOpen(pid: number, parts: readonly string[]): boolean {
  const descriptors = unlessGone(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
  return descriptors.some((descriptor) => {
    const path = unlessGone(() => readlinkSync(`/proc/${pid}/fd/${descriptor}`)) ?? '';
    return parts.some((part) => path.includes(part));
  });
}

/** The command line of a process for people; empty where the system does not tell. */
export function commandLineOf(pid: number): string {
  const text = unlessGone(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? '';
  return text.replaceAll('\0', ' ').trim();
}

/** Processes end while we look at them, and those of others are not shown to us. */
function unlessGone<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
