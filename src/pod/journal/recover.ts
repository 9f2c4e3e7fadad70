import type { Item } from '../../llm/index.ts';
import { errorOutput, type ToolOutput } from '../../tools/index.ts';
import { type Finished, NO_TOTALS } from '../../worker/index.ts';
import type { PodFact } from '../event.ts';
import type { Segments } from '../feed/index.ts';
import { type OpenCall, openCallsIn } from '../view/open-calls.ts';
import type { UnnumberedEvent } from './journal.ts';
import { eventIn, RESERVED } from './journal.ts';
import { shellMessage } from '../session/index.ts';
import type { Restored, UnsentShellOutput } from './restore.ts';

/** Where the numbers go on, and which of them may be lost. */
export interface Numbering {
  readonly lastSeq: number;
  readonly lost: { readonly from: number; readonly to: number } | undefined;
}

/**
 * Brings feed and session together again after whatever happened to them.
 *
 * What the feed knows beyond the session was told to nobody, unless the session has lost its end, and is taken back. Where
 * the session knows more, by a power cut or by another program, what was told cannot be told again, and who comes back
 * gets a snapshot. In both cases the numbers go on behind all that may have been given out.
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
  const untold = await firstUntold(segments, known).catch((): typeof DAMAGED => DAMAGED);
  if (untold === DAMAGED) {
    await segments.forget(lastSeq + 1);
    return { lastSeq, lost: { from: known + 1, to: lastSeq } };
  }
  if (segments.isClean && untold === undefined) return { lastSeq: before, lost: undefined };
  if (untold !== undefined) await segments.cutAfter(untold - 1);
  return { lastSeq, lost: { from: Math.min(segments.lastSeq, before) + 1, to: lastSeq } };
}

/** Nobody can say what is there: those who come back get a snapshot. */
const DAMAGED = 'damaged';

/** The first event past the session's last entry that should have left one. */
async function firstUntold(segments: Segments, known: number): Promise<number | undefined> {
  for await (const texts of segments.read(Math.max(known, segments.firstSeq - 1))) {
    for (const text of texts) {
      const { seq, entryId } = eventIn(text);
      if (entryId !== undefined) return seq;
    }
  }
  return undefined;
}

/** Commands of a person's that ran when the process ended; the model is told that nobody knows how they ended. */
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

/**
 * What has to be said of a session whose process ended without a word. In a turn that waits for an approval, or that a pause
 * holds, calls that have not begun stay open; all others get a result, since nobody knows whether they took effect.
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
  // Not those of a child or of a client, whose calls may be named alike: nothing of ours waits for them.
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
  // The turn goes on with the next decision; what had begun of it must not begin again.
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
      ...(totals && { conversation: totals }),
    });
  }
  return [...recovered, ...ended, ...facts.map((fact) => ({ fact }))];
}

/** Results of calls that are still open after the recovery: they ended before an earlier call of their turn. */
export function finishedCalls(
  { earlyResults, placedResults }: Restored,
  drafts: readonly UnnumberedEvent[],
  open: readonly OpenCall[],
): ReadonlyMap<string, Finished> {
  const finished = new Map<string, Finished>();
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
