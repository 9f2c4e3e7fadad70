import { setTimeout as sleep } from 'node:timers/promises';
import { oneLine } from '../text/shorten.ts';
import {
  processCommandLine,
  hasInEnvironment,
  hasOpen,
  listProcesses,
  listProcessesNow,
  findProcess,
  type RunningProcess,
} from './process-list.ts';

/** How the processes of a call are recognized. */
export interface TreeMarks {
  /** The process that was started for the call, the leader of its own group and session. */
  readonly root: number;
  /** A text in the environment of every process of the call, unique to it. */
  readonly environment: string;
  /** The names of the pipes for the call's output. */
  readonly pipes: readonly string[];
  /** Processes that also hold a pipe, but are ours. */
  readonly others: readonly number[];
  /** The command line of the wrapper around the command, which is not listed. */
  readonly wrapper: string | undefined;
}

/** What became of the remaining processes. */
export interface EndedProcesses {
  /** The command lines of the processes that we ended, except the call's own process. */
  readonly ended: readonly string[];
  /** Processes that even SIGKILL did not end: of another user, or stuck in the kernel. */
  readonly survivors: readonly string[];
}

/**
 * The processes that descend from one. They are found by parent, group and session, by a marker in the
 * environment and by the output they hold, so neither `setsid` nor `nohup` nor a double fork hides one. Only a
 * process that does all of it escapes: leaves the session, loses its parents, clears its environment and closes
 * the output.
 */
export class ProcessTree {
  readonly #marks: TreeMarks;
  /** When the root started: older processes do not descend from it. */
  readonly #since: number;
  /** Processes found so far, which stay members after their parents have ended; with command lines. */
  readonly #knownProcesses = new Map<string, string>();

  /** Must be created right after the root was started, while it cannot have ended. */
  constructor(marks: TreeMarks) {
    this.#marks = marks;
    this.#since = findProcess(marks.root)?.start ?? 0;
  }

  /** Ends all of them: after a delay by SIGTERM, then by SIGKILL, until none is left. */
  async end(graceMs: number): Promise<EndedProcesses> {
    let remaining = await this.#waitForEnd(graceMs);
    if (remaining.length === 0) return { ended: [], survivors: [] };
    // A process that is exiting was not left in the background: on a busy machine the exit itself takes a while.
    const ended = remaining
      .filter(({ isExiting }) => !isExiting)
      .filter((process) => process.pid !== this.#marks.root && !this.#isWrapper(process))
      .map((process) => this.#displayName(process));
    sendSignal('SIGTERM', remaining);
    await this.#waitForEnd(GRACE_MS);
    const deadline = performance.now() + KILL_MS;
    // Two empty scans are required, because a process may be created during one.
    for (let empty = 0; empty < 2 && performance.now() < deadline; ) {
      remaining = await this.#find();
      empty = remaining.length === 0 ? empty + 1 : 0;
      sendSignal('SIGKILL', remaining);
      if (remaining.length > 0) await sleep(LOOK_MS);
    }
    return { ended, survivors: remaining.map((process) => this.#displayName(process)) };
  }

  /** Ends them synchronously, when this process exits. */
  endNow(): void {
    if (process.platform !== 'linux') {
      sendSignal('SIGKILL', [{ pid: -this.#marks.root }]);
      return;
    }
    // A process may be created during a scan.
    for (let look = 0; look < FINAL_SCANS; look += 1) {
      const remaining = this.#findMembers(listProcessesNow());
      if (remaining.length === 0) return;
      sendSignal('SIGKILL', remaining);
    }
  }

  #isWrapper(process: RunningProcess): boolean {
    const { wrapper } = this.#marks;
    return wrapper !== undefined && this.#knownProcesses.get(processKey(process)) === wrapper;
  }

  async #waitForEnd(graceMs: number): Promise<readonly RunningProcess[]> {
    const deadline = performance.now() + graceMs;
    for (;;) {
      const remaining = await this.#find();
      if (remaining.length === 0 || performance.now() >= deadline) return remaining;
      await sleep(LOOK_MS);
    }
  }

  async #find(): Promise<readonly RunningProcess[]> {
    return this.#findMembers(await listProcesses());
  }

  #findMembers(processes: readonly RunningProcess[]): readonly RunningProcess[] {
    const younger = processes.filter(({ start }) => start >= this.#since);
    const found = withDescendants(younger, (process) => this.#isMember(process));
    for (const process of found) {
      // Read again each time: a new process still has its parent's command line.
      const name = processCommandLine(process) || this.#knownProcesses.get(processKey(process));
      this.#knownProcesses.set(processKey(process), name ?? '');
    }
    return found;
  }

  #isMember(candidate: RunningProcess): boolean {
    const { root, environment, pipes, others: ownProcesses } = this.#marks;
    const { pid, group, session } = candidate;
    if (ownProcesses.includes(pid)) return false;
    if (group === root || session === root || this.#knownProcesses.has(processKey(candidate))) return true;
    return hasInEnvironment(candidate, environment) || hasOpen(candidate, pipes);
  }

  #displayName(process: RunningProcess): string {
    return oneLine(this.#knownProcesses.get(processKey(process)) || `process ${process.pid}`, 80);
  }
}

/** Returns the matching processes and all their descendants. */
export function withDescendants(
  processes: readonly RunningProcess[],
  belongs: (process: RunningProcess) => boolean,
): readonly RunningProcess[] {
  const children = new Map<number, RunningProcess[]>();
  for (const process of processes) {
    const siblings = children.get(process.parent);
    if (siblings === undefined) children.set(process.parent, [process]);
    else siblings.push(process);
  }
  // A set iterates over elements that are added meanwhile. No recursion: a command can start a chain of any
  // length.
  const found = new Set(processes.filter(belongs));
  for (const process of found) for (const child of children.get(process.pid) ?? []) found.add(child);
  return [...found];
}

function processKey({ pid, start }: RunningProcess): string {
  return `${pid}:${start}`;
}

/** Sends a signal to each of them. */
export function sendSignal(signal: NodeJS.Signals, processes: readonly Pick<RunningProcess, 'pid'>[]): void {
  for (const { pid } of processes) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended by itself or belongs to another user; the next scan shows which.
    }
  }
}

const FINAL_SCANS = 20;
const GRACE_MS = 500;
const KILL_MS = 3_000;
const LOOK_MS = 15;
