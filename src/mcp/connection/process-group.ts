import { once } from 'node:events';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Env, systemCodeOf } from '../../base/index.ts';

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Env;
}

/** Starts a program as the leader of a group of its own, so that it can be ended with all that it starts. */
export function startGroup({ command, args, cwd, env }: Program): ChildProcessWithoutNullStreams {
  const child = spawn(command, args, { cwd, env, detached: true, stdio: 'pipe' });
  if (child.pid === undefined) return child;
  if (live.size === 0) process.on('exit', killAll);
  live.add(child.pid);
  return child;
}

/**
 * Ends the program and all of its group: its input ends, then it is asked, then it is killed, each after a while. Resolves
 * when nothing of the group is left. What the program has moved into another group is its own to end.
 */
export async function endGroup(child: ChildProcessWithoutNullStreams, graceMs: number): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  child.stdin.end();
  // Short, because many servers do not notice.
  const shortMs = graceMs / 4;
  if (isRunning(child)) await Promise.race([once(child, 'exit'), sleep(shortMs, undefined, { ref: false })]);
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!signalGroup(pid, signal)) break;
    await untilGone(pid, graceMs);
  }
  live.delete(pid);
  if (live.size === 0) process.off('exit', killAll);
}

function isRunning(child: ChildProcessWithoutNullStreams): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** Answers whether there was anything to signal. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch (thrown) {
    // Some systems answer EPERM for a group of which only dead processes are left.
    if (systemCodeOf(thrown) === 'ESRCH' || systemCodeOf(thrown) === 'EPERM') return false;
    throw thrown;
  }
}

async function untilGone(pid: number, graceMs: number): Promise<void> {
  const until = performance.now() + graceMs;
  // Nobody is told of the end of a process that is not a child of ours.
  while (signalGroup(pid, 0) && performance.now() < until) await sleep(10);
}

/** The groups that are still to be ended: none of them outlives this process, however it ends. */
const live = new Set<number>();

function killAll(): void {
  for (const pid of live) signalGroup(pid, 'SIGKILL');
}
