import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { numberOf, parseObject, tryOrUndefined } from '../../base/index.ts';

/**
 * Waits until every process of a sandbox has ended. bubblewrap exits with the command, a moment before the
 * kernel has ended its remaining processes; the first process in the namespace ends last.
 */
export async function waitForNamespaceEnd(status: number): Promise<void> {
  const pid = firstProcess(status);
  if (pid === undefined) return;
  for (let waited = 0; isRunning(pid); waited += 1) {
    if (waited === PATIENCE) kill(pid);
    if (waited > MOST) throw new Error(`the processes of the sandbox (${pid}) cannot be ended`);
    await sleep(waited < 20 ? 1 : 10);
  }
}

/** As written by bubblewrap to its --info-fd. */
function firstProcess(status: number): number | undefined {
  const text = tryOrUndefined(() => readFileSync(`/proc/self/fd/${status}`, 'utf8')) ?? '';
  return numberOf(parseObject(text)?.['child-pid']);
}

function isRunning(pid: number): boolean {
  const stat = tryOrUndefined(() => readFileSync(`/proc/${pid}/stat`, 'latin1')) ?? '';
  const state = stat.slice(stat.lastIndexOf(')') + 2)[0] ?? '';
  // The pid may belong to another program by now.
  return stat.includes('(bwrap)') && !'ZXx'.includes(state);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}

const PATIENCE = 100;
const MOST = 600;
