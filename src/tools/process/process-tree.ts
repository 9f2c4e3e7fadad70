import { setTimeout as sleep } from 'node:timers/promises';
import { oneLine } from '../text/shorten.ts';
import {
  commandLineOf,
  hasInEnvironment,
  hasOpen,
  listProcesses,
  listProcessesNow,
  processOf,
  type RunningProcess,
} from './process-list.ts';

/** How the processes of a call are told from all others. */
export interface TreeMarks {
  /** The process that was started for the call, at the head of a group and a session of its own. */
  readonly root: number;
  /** A text in the environment of every process of the call, which no other process has. */
  readonly environment: string;
  /** The names of the pipes that the call's output goes to. */
  readonly pipes: readonly string[];
  /** Those that hold a pipe too, but are ours. */
  readonly others: readonly number[];
  /** The command line of the program that we put around the command: its processes are not named to anybody. */
  readonly wrapper: string | undefined;
}

/** What became of the processes that were still there. */
export interface EndedProcesses {
  /** The command lines of those that we ended, the call's own process aside. */
  readonly ended: readonly string[];
  /** Those that even SIGKILL did not end: processes of another user, or stuck in the kernel. */
  readonly survivors: readonly string[];
}

/**
 * The processes that came from one. They are found by descent, by group and session, by a mark in the environment and by
 * the output they hold, so that neither `setsid`, nor `nohup`, nor a double fork hides one. What hides is a process that
 * does all of it: leaves the session, loses its parents, clears its environment and lets go of the output.
 */
export class ProcessTree {
  readonly #marks: TreeMarks;
  /** When the root started: nothing that is older comes from it. */
  readonly #since: number;
  /** What was found once belongs to the tree, also after its parents are gone; with its command line. */
  readonly #known = new Map<string, string>();

  /** To be made right after the root was started, while it cannot be gone yet. */
  constructor(marks: TreeMarks) {
    this.#marks = marks;
    this.#since = processOf(marks.root)?.start ?? 0;
  }

  /** Ends all of them: after some patience by SIGTERM, then by SIGKILL, until none is left. */
  async end(patienceMs: number): Promise<EndedProcesses> {
    let left = await this.#untilGone(patienceMs);
    if (left.length === 0) return { ended: [], survivors: [] };
    const ended = left
      .filter((process) => process.pid !== this.#marks.root && !this.#isWrapper(process))
      .map((process) => this.#nameOf(process));
    sendSignal('SIGTERM', left);
    await this.#untilGone(GRACE_MS);
    const deadline = performance.now() + KILL_MS;
    // Two looks without a find: a process may be born behind the back of one.
    for (let empty = 0; empty < 2 && performance.now() < deadline; ) {
      left = await this.#find();
      empty = left.length === 0 ? empty + 1 : 0;
      sendSignal('SIGKILL', left);
      if (left.length > 0) await sleep(LOOK_MS);
    }
    return { ended, survivors: left.map((process) => this.#nameOf(process)) };
  }

  /** Ends them without waiting, when this process ends. */
  endNow(): void {
    if (process.platform !== 'linux') {
      sendSignal('SIGKILL', [{ pid: -this.#marks.root }]);
      return;
    }
    // A process may be born behind the back of one look.
    for (let look = 0; look < LAST_LOOKS; look += 1) {
      const left = this.#among(listProcessesNow());
      if (left.length === 0) return;
      sendSignal('SIGKILL', left);
    }
  }

  #isWrapper(process: RunningProcess): boolean {
    const { wrapper } = this.#marks;
    return wrapper !== undefined && this.#known.get(keyOf(process)) === wrapper;
  }

  async #untilGone(patienceMs: number): Promise<readonly RunningProcess[]> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const left = await this.#find();
      if (left.length === 0 || performance.now() >= deadline) return left;
      await sleep(LOOK_MS);
    }
  }

  async #find(): Promise<readonly RunningProcess[]> {
    return this.#among(await listProcesses());
  }

  #among(processes: readonly RunningProcess[]): readonly RunningProcess[] {
    const younger = processes.filter(({ start }) => start >= this.#since);
    const found = withDescendants(younger, (process) => this.#isOurs(process));
    for (const process of found) {
      // Anew each time: a process that was just born still has its parent's.
      const name = commandLineOf(process.pid) || this.#known.get(keyOf(process));
      this.#known.set(keyOf(process), name ?? '');
    }
    return found;
  }

  #isOurs(candidate: RunningProcess): boolean {
    const { root, environment, pipes, others } = this.#marks;
    const { pid, group, session } = candidate;
    if (others.includes(pid)) return false;
    if (group === root || session === root || this.#known.has(keyOf(candidate))) return true;
    return hasInEnvironment(pid, environment) || hasOpen(pid, pipes);
  }

  #nameOf(process: RunningProcess): string {
    return oneLine(this.#known.get(keyOf(process)) || `process ${process.pid}`, 80);
  }
}

/** Those that belong by themselves, and all that descend from them. */
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
  // A set is walked to its end, also over what is added meanwhile. No recursion: a command can start a chain of any length.
  const found = new Set(processes.filter(belongs));
  for (const process of found) for (const child of children.get(process.pid) ?? []) found.add(child);
  return [...found];
}

function keyOf({ pid, start }: RunningProcess): string {
  return `${pid}:${start}`;
}

/** Sends a signal to each of them. */
export function sendSignal(signal: NodeJS.Signals, processes: readonly Pick<RunningProcess, 'pid'>[]): void {
  for (const { pid } of processes) {
    try {
      process.kill(pid, signal);
    } catch {
      // It ended by itself, or it is another user's; the next look tells.
    }
  }
}

const LAST_LOOKS = 20;
const GRACE_MS = 500;
const KILL_MS = 3_000;
const LOOK_MS = 15;
