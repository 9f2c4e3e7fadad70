import { withoutUndefined } from '../../base/index.ts';
import type { Item } from '../../llm/index.ts';
import { errorOutput, type ToolOutput } from '../../tools/index.ts';
import { type CallOutcome, NO_TOTALS } from '../../worker/index.ts';
import type { PodFact } from '../event.ts';
import type { Segments } from '../feed/index.ts';
import { type OpenCall, openCallsIn } from '../view/open-calls.ts';
import type { UnnumberedEvent } from './journal.ts';
import { eventIn, RESERVED } from './journal.ts';
import { shellMessage } from '../session/index.ts';
import type { Restored, UnsentShellOutput } from './restore.ts';

/** The last assigned number, and the range of numbers that may be lost. */
export interface Numbering {
  readonly lastSeq: number;
  readonly lost: { readonly from: number; readonly to: number } | undefined;
}

/**
 * Reconciles the feed and the session after a crash.
 *
 * Events that the feed has beyond the session were never published, unless the session lost its end, and are removed. If the
 * session has more, after a power cut or a change by another program, the published events cannot be read again, and reconnecting
 * clients receive a snapshot. In both cases numbering continues after all numbers that may have been assigned.
 */
export async function reconcile(segments: Segments, restored: Restored): Promise<Numbering> {
  const { lastSeq: known, isForeign } = restored;
  const before = segments.lastSeq;
  if (known === 0 && before === 0) return { lastSeq: 0, lost: undefined };
  const lastSeq = Math.max(before, known + RESERVED);
  if (before < known || isForeign) {
    await segments.forget(lastSeq + 1);
    return { lastSeq, lost: { from: Math.min(before, known) + 1, to: lastSeq } };
  }
  const unpublished = await firstUnpublished(segments, known).catch((): typeof DAMAGED => DAMAGED);
  if (unpublished === DAMAGED) {
    await segments.forget(lastSeq + 1);
    return { lastSeq, lost: { from: known + 1, to: lastSeq } };
  }
  if (segments.isClean && unpublished === undefined) return { lastSeq: before, lost: undefined };
  if (unpublished !== undefined) await segments.cutAfter(unpublished - 1);
  return { lastSeq, lost: { from: Math.min(segments.lastSeq, before) + 1, to: lastSeq } };
}

/** The feed is unreadable: reconnecting clients receive a snapshot. */
const DAMAGED = 'damaged';

/** The first event after the session's last entry that has an entry of its own. */
async function firstUnpublished(segments: Segments, known: number): Promise<number | undefined> {
  for await (const texts of segments.read(Math.max(known, segments.firstSeq - 1))) {
    for (const text of texts) {
      const { seq, entryId } = eventIn(text);
      if (entryId !== undefined) return seq;
    }
  }
  return undefined;
}

/** Shell commands of a person that were running when the process ended. The model is informed that their outcome is unknown. */
export function interruptedShells(
  { view }: Restored,
  at: Date,
  noteFor: (callId: string) => string | undefined,
): readonly UnsentShellOutput[] {
  return [...view.shells.values()].map(({ shellId, command, private: isPrivate }) => ({
    shellId,
    message: shellMessage(command, interruptedOutput(noteFor(shellId)), { cancelled: true, isPrivate, at }),
  }));
}

/** Background commands that were running when the process ended. */
export function interruptedCommands(
  { view }: Restored,
  noteFor: (callId: string) => string | undefined,
): readonly UnnumberedEvent[] {
  return [...view.background.values()]
    .filter(({ end }) => end === undefined)
    .map(({ id, command, callId }) => {
      const message = noteFor(callId) ?? 'the process that hosts this agent ended, and the command with it';
      return { fact: { type: 'background-end', id, command, status: 'interrupted', message } };
    });
}

/**
 * Returns the events that recover a session whose process ended unexpectedly. In a turn that waits for an approval or is paused,
 * calls that have not started stay open. All others get a result, because it is unknown whether they took effect.
 */
export function recovery(
  restored: Restored,
  lost: Numbering['lost'],
  interrupted: readonly UnsentShellOutput[],
  noteFor: (callId: string) => string | undefined,
): readonly UnnumberedEvent[] {
  const { view, totals, openCalls, earlyResults, placedResults, started } = restored;
  const recovered: UnnumberedEvent[] = lost === undefined ? [] : [{ fact: { type: 'recovered', lost } }];
  const ended = interrupted.map(({ shellId, message }): UnnumberedEvent => {
    const { command = '', private: isPrivate = false } = view.shells.get(shellId) ?? {};
    const output = errorOutput(INTERRUPTED);
    return {
      fact: { type: 'shell-end', shellId, command, status: 'interrupted', output, private: isPrivate },
      message,
    };
  });
  const facts: PodFact[] = [];
  const isPaused = view.run === undefined && view.lastRun?.outcome.status === 'paused';
  // Without approvals of a child or a client, whose call ids may be the same: no call of this pod waits for them.
  const own = view.approvals
    .pending()
    .filter(({ runId, podId }) => runId !== undefined && podId === undefined);
  const awaited = new Set(own.map(({ callId }) => callId));
  const isAwaited = openCalls.some(({ callId }) => awaited.has(callId));
  if (openCalls.length > 0 && !isPaused && !isAwaited) {
    const results = openCallsIn(view.items).map(
      ({ callId }) =>
        placedResults.get(callId) ??
        earlyResults.get(callId)?.item ??
        interruptedResult(callId, noteFor(callId)),
    );
    facts.push({ type: 'turn-end', turn: view.turn, results });
  }
  // The turn continues with the next decision; calls that have started must not start again.
  else
    for (const { callId, name } of openCalls)
      if (started.has(callId) && !earlyResults.has(callId))
        facts.push({
          type: 'tool-end',
          callId,
          name,
          status: 'interrupted',
          output: interruptedOutput(noteFor(callId)),
        });
  if (view.run !== undefined) {
    const { runId } = view.run;
    facts.push({
      type: 'run-end',
      runId,
      outcome: { status: 'interrupted' },
      totals: NO_TOTALS,
      ...withoutUndefined({ conversation: totals }),
    });
  }
  return [...recovered, ...ended, ...facts.map((fact) => ({ fact }))];
}

/** Results of calls that are still open after the recovery: they ended before an earlier call of their turn. */
export function finishedCalls(
  { earlyResults, placedResults }: Restored,
  drafts: readonly UnnumberedEvent[],
  open: readonly OpenCall[],
): ReadonlyMap<string, CallOutcome> {
  const finished = new Map<string, CallOutcome>();
  for (const { callId } of open) {
    const item = placedResults.get(callId) ?? earlyResults.get(callId)?.item;
    if (item?.type === 'tool-result') {
      const { content, isError } = item;
      const status = isError ? 'failed' : 'done';
      finished.set(callId, { status, output: { summary: status, content, isError } });
    }
    for (const { fact } of drafts)
      if (fact.type === 'tool-end' && fact.callId === callId)
        finished.set(callId, { status: fact.status, output: fact.output });
  }
  return finished;
}

function interruptedOutput(note: string | undefined): ToolOutput {
  return errorOutput(note === undefined ? INTERRUPTED : `${INTERRUPTED}\n${note}`);
}

function interruptedResult(callId: string, note: string | undefined): Item {
  const { content } = interruptedOutput(note);
  return { type: 'tool-result', callId, content, isError: true };
}

const INTERRUPTED =
  'Interrupted: the process ended before this call gave its result. It may or may not have taken effect; check before you do it again.';
