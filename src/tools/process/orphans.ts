import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../base/index.ts';
import { oneLine } from '../text/shorten.ts';
import { removeAbandonedGroups } from './command-group.ts';
import type { CommandLedger, CommandRecord } from './command-ledger.ts';
import {
  commandLineOf,
  hasInEnvironment,
  hasOpen,
  listProcesses,
  processOf,
  type RunningProcess,
} from './process-list.ts';
import { sendSignal, withDescendants } from './process-tree.ts';

/** Whether the process that started a command is gone; `rebooted` if no process of its time can be left. */
export type OwnerState = 'alive' | 'dead' | 'rebooted';

/**
 * Ends the commands of processes that are gone. A process belongs to a command if it is the recorded one (same pid and
 * start time), carries the command's mark, holds its output pipe, or descends from such a process. A pid alone is never
 * enough: the system gives it to another process later. The record is kept, with what was ended, for the result of the call.
 */
export async function endOrphans(
  ledger: CommandLedger,
  stateOf: (owner: JsonObject) => OwnerState,
): Promise<readonly CommandRecord[]> {
  ledger.forgetEndedBefore(Date.now() - KEEP_MS);
  const left = ledger.all().filter(({ ended }) => ended === undefined);
  const orphans = left.filter(({ owner }) => stateOf(owner) !== 'alive');
  const found: CommandRecord[] = [];
  for (const orphan of orphans) {
    const ended = stateOf(orphan.owner) === 'rebooted' ? [] : await endProcessesOf(orphan);
    ledger.keepEnded(orphan, ended);
    found.push({ ...orphan, ended });
  }
  if (found.length > 0) removeAbandonedGroups();
  return found;
}

/** A sentence for the result of a call that was interrupted; the record is not needed any more then. */
export function orphanNote(ledger: CommandLedger, podId: string, callId: string): string | undefined {
  const record = ledger.all().find((known) => known.podId === podId && known.callId === callId);
  if (record?.ended === undefined) return undefined;
  ledger.remove(record);
  const { ended } = record;
  if (ended.length === 0)
    return 'The process that hosts this agent was killed while the command ran; none of the command’s processes was left.';
  const names = ended.slice(0, MOST_NAMED).join('; ');
  return `The process that hosts this agent was killed while the command ran; the command’s processes were ended: ${names}.`;
}

async function endProcessesOf(orphan: CommandRecord): Promise<readonly string[]> {
  const names = new Map<number, string>();
  for (let empty = 0, round = 0; empty < 2 && round < MOST_ROUNDS; round += 1) {
    const left = await processesOf(orphan);
    empty = left.length === 0 ? empty + 1 : 0;
    for (const { pid } of left)
      if (!names.has(pid)) names.set(pid, oneLine(commandLineOf(pid) || `process ${pid}`, 80));
    // Whoever can clean up gets one moment for it.
    sendSignal(round === 0 ? 'SIGTERM' : 'SIGKILL', left);
    if (left.length > 0) await sleep(round === 0 ? GRACE_MS : LOOK_MS);
  }
  // Not what we started around the command ourselves.
  return [...new Set(names.values())].filter((name) => name !== 'cat' && !/^\S*bwrap /.test(name));
}

async function processesOf({ mark, pipes, root }: CommandRecord): Promise<readonly RunningProcess[]> {
  const isRoot = ({ pid, start }: RunningProcess): boolean => pid === root?.pid && start === root.start;
  const isOurs = (candidate: RunningProcess): boolean =>
    candidate.pid !== process.pid &&
    (isRoot(candidate) || hasInEnvironment(candidate.pid, mark) || hasOpen(candidate.pid, pipes));
  // A Polypod that runs inside the command has its mark, and may be the one that looks.
  const above = new Set(ancestorsOf(process.pid));
  return withDescendants(await listProcesses(), isOurs).filter(
    ({ pid }) => pid !== process.pid && !above.has(pid),
  );
}

function ancestorsOf(pid: number): readonly number[] {
  const above: number[] = [];
  for (let next = processOf(pid)?.parent ?? 0; next > 1; next = processOf(next)?.parent ?? 0)
    above.push(next);
  return above;
}

const KEEP_MS = 30 * 24 * 60 * 60 * 1_000;
const MOST_NAMED = 5;
const MOST_ROUNDS = 200;
const GRACE_MS = 200;
const LOOK_MS = 15;
