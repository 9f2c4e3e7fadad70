import { once } from 'node:events';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Env, systemCodeOf } from '../../base/index.ts';

export interface ServerProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Env;
}

/** Starts a program as the leader of its own process group, so that it can be ended with all its children. */
export function startGroup({ command, args, cwd, env }: ServerProgram): ChildProcessWithoutNullStreams {
  const child = spawn(command, args, { cwd, env, detached: true, stdio: 'pipe' });
  if (child.pid === undefined) return child;
  if (liveGroups.size === 0) process.on('exit', killAll);
  liveGroups.add(child.pid);
  return child;
}

/**
 * Ends the program and its group: closes its input, then sends SIGTERM, then SIGKILL, each after a delay.
 * Resolves when the group is empty. Processes that moved to another group are not covered.
 */
export async function endGroup(child: ChildProcessWithoutNullStreams, graceMs: number): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  child.stdin.end();
  // Short, because many servers ignore it.
  const shortMs = graceMs / 4;
  if (isRunning(child)) await Promise.race([once(child, 'exit'), sleep(shortMs, undefined, { ref: false })]);
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!signalGroup(pid, signal)) break;
    await waitForExit(pid, graceMs);
  }
  liveGroups.delete(pid);
  if (liveGroups.size === 0) process.off('exit', killAll);
}

function isRunning(child: ChildProcessWithoutNullStreams): boolean {
  return child.exitCode === null && child.signalCode === null;
}

/** Returns whether there was a process to signal. */
function signalGroup(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid, signal);
  } catch (thrown) {
    // Some systems return EPERM for a group that contains only zombies.
    if (systemCodeOf(thrown) === 'ESRCH' || systemCodeOf(thrown) === 'EPERM') return false;
    throw thrown;
  }
}

async function waitForExit(pid: number, graceMs: number): Promise<void> {
  const deadline = performance.now() + graceMs;
  // There is no event for the end of a process that is not our child.
  while (signalGroup(pid, 0) && performance.now() < deadline) await sleep(10);
}

/** The groups that still run: they are killed when this process exits. */
const liveGroups = new Set<number>();

function killAll(): void {
  for (const pid of liveGroups) signalGroup(pid, 'SIGKILL');
}
