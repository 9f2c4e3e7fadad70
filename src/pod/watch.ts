import { derivedAbort, PolypodError } from '../base/index.ts';
import type { PodEvent } from './event.ts';
import { EventBatch } from './feed/index.ts';
import type { Journal } from './journal/index.ts';
import type { Snapshot } from './snapshot.ts';

/** Where a watcher begins. */
export interface WatchFrom {
  /** The last number that was seen; without one a snapshot comes first. */
  readonly after?: number;
  /**
   * Whether the first batch, which may be empty, is what was told up to that number of the turn that it lies in: for a wire
   * that says at the end of a block what was in it.
   */
  readonly wholeTurn?: boolean;
}

/** What a watcher gets: a snapshot first, if it has no number to go on from, then events. */
export type Watched =
  | { readonly type: 'snapshot'; readonly reason: 'joined' | 'gap'; readonly snapshot: Snapshot }
  | { readonly type: 'events'; readonly batch: EventBatch<PodEvent> };

/** What is watched: a pod that stays in memory until `done` is called. */
export interface Watchable {
  readonly journal: Journal;
  readonly takeSnapshot: () => Snapshot;
  readonly done: () => void;
}

/**
 * Everything after a number, each event once; without one, or where that is no longer possible, a snapshot first. One
 * generator and not one for each case: every delta goes through it, and every generator on its way costs as much again.
 */
export async function* watchPod(
  enter: () => Promise<Watchable>,
  { after, wholeTurn = false }: WatchFrom,
  signal: AbortSignal,
): AsyncGenerator<Watched> {
  const { journal, takeSnapshot, done } = await enter();
  const { controller, release } = derivedAbort(signal);
  try {
    const turn = after === undefined ? undefined : await turnBefore(journal, after, wholeTurn);
    if (after !== undefined && turn !== undefined) {
      const batches = journal.feed.watch(after, controller.signal);
      if (wholeTurn) yield { type: 'events', batch: new EventBatch(turn) };
      try {
        for await (const batch of batches) yield { type: 'events', batch };
        return;
      } catch (error) {
        // The oldest events have been let go while a reader was on its way to them: that is a gap like any other.
        if (!(error instanceof PolypodError) || error.code !== 'not-found') throw error;
      }
    }
    const snapshot = takeSnapshot();
    const batches = journal.feed.watch(snapshot.seq, controller.signal);
    await journal.written();
    yield { type: 'snapshot', reason: after === undefined ? 'joined' : 'gap', snapshot };
    for await (const batch of batches) yield { type: 'events', batch };
  } finally {
    // Also for one that leaves with the snapshot and never listens.
    controller.abort();
    release();
    done();
  }
}

/** What was told before of the turn that a number lies in, if that is asked for; undefined when nobody can go on there. */
async function turnBefore(
  journal: Journal,
  after: number,
  wholeTurn: boolean,
): Promise<readonly PodEvent[] | undefined> {
  if (!(await journal.canResume(after))) return undefined;
  return wholeTurn ? journal.turnUntil(after) : [];
}
