import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '../../base/index.ts';
import { oneLine } from '../text/shorten.ts';
import { removeAbandonedGroups } from './command-group.ts';
import type { CommandLedger, CommandRecord } from './command-ledger.ts';
import {
  processCommandLine,
  hasInEnvironment,
  hasOpen,
  listProcesses,
  findProcess,
  type RunningProcess,
} from './process-list.ts';
import { sendSignal, withDescendants } from './process-tree.ts';

/** Whether the process that started a command has ended; `rebooted` if no process of its time can be left. */
export type OwnerState = 'alive' | 'dead' | 'rebooted';

/**
 * Ends the commands of ended processes. A process belongs to a command if it is the recorded one (same pid and
 * start time), has the command's marker, holds its output pipe, or descends from such a process. A pid alone is
 * never enough, because the system reuses it. The record is kept, with what was ended, for the result of the
 * call.
 */
export async function endOrphans(
  ledger: CommandLedger,
  stateOf: (owner: JsonObject) => OwnerState,
): Promise<readonly CommandRecord[]> {
  ledger.removeEndedBefore(Date.now() - KEEP_MS);
  const remaining = ledger.all().filter(({ ended }) => ended === undefined);
  const orphans = remaining.filter(({ owner }) => stateOf(owner) !== 'alive');
  const found: CommandRecord[] = [];
  for (const orphan of orphans) {
    const ended = stateOf(orphan.owner) === 'rebooted' ? [] : await endProcesses(orphan);
    ledger.saveEnded(orphan, ended);
    found.push({ ...orphan, ended });
  }
  if (found.length > 0) removeAbandonedGroups();
  return found;
}

/** Returns a sentence for the result of an interrupted call, and removes the record. */
export function orphanNote(ledger: CommandLedger, podId: string, callId: string): string | undefined {
  const record = ledger.all().find((entry) => entry.podId === podId && entry.callId === callId);
  if (record?.ended === undefined) return undefined;
  ledger.remove(record);
  const { ended } = record;
  if (ended.length === 0)
    return 'The process that hosts this agent was killed while the command ran; none of the command’s processes was left.';
  const names = ended.slice(0, MAX_NAMED).join('; ');
  return `The process that hosts this agent was killed while the command ran; the command’s processes were ended: ${names}.`;
}

async function endProcesses(orphan: CommandRecord): Promise<readonly string[]> {
  const names = new Map<number, string>();
  for (let empty = 0, round = 0; empty < 2 && round < MAX_ROUNDS; round += 1) {
    const remaining = await findProcesses(orphan);
    empty = remaining.length === 0 ? empty + 1 : 0;
    for (const process of remaining.filter(({ pid, isExiting }) => !isExiting && !names.has(pid)))
      names.set(process.pid, oneLine(processCommandLine(process) || `process ${process.pid}`, 80));
    // The processes get one moment to clean up.
    sendSignal(round === 0 ? 'SIGTERM' : 'SIGKILL', remaining);
    if (remaining.length > 0) await sleep(round === 0 ? GRACE_MS : LOOK_MS);
  }
  // Excludes what we started around the command.
  return [...new Set(names.values())].filter((name) => name !== 'cat' && !/^\S*bwrap /.test(name));
}

async function findProcesses({ mark, pipes, root }: CommandRecord): Promise<readonly RunningProcess[]> {
  const isRoot = ({ pid, start }: RunningProcess): boolean => pid === root?.pid && start === root.start;
  const isOurs = (candidate: RunningProcess): boolean =>
    candidate.pid !== process.pid &&
    (isRoot(candidate) || hasInEnvironment(candidate, mark) || hasOpen(candidate, pipes));
  // A Polypod that runs inside the command has its marker, and may be this process.
  const ownAncestors = new Set(ancestorPids(process.pid));
  return withDescendants(await listProcesses(), isOurs).filter(
    ({ pid }) => pid !== process.pid && !ownAncestors.has(pid),
  );
}

function ancestorPids(pid: number): readonly number[] {
  const ownAncestors: number[] = [];
  for (
    let ancestor = findProcess(pid)?.parent ?? 0;
    ancestor > 1;
    ancestor = findProcess(ancestor)?.parent ?? 0
  )
    ownAncestors.push(ancestor);
  return ownAncestors;
}

const KEEP_MS = 30 * 24 * 60 * 60 * 1_000;
const MAX_NAMED = 5;
const MAX_ROUNDS = 200;
const GRACE_MS = 200;
const LOOK_MS = 15;
