import { derivedAbort, PolypodError } from '../base/index.ts';
import type { PodEvent } from './event.ts';
import { EventBatch } from './feed/index.ts';
import type { Journal } from './journal/index.ts';
import type { Snapshot } from './snapshot.ts';

/** Where a watcher starts. */
export interface WatchFrom {
  /** The last number seen; without one, a snapshot comes first. */
  readonly after?: number;
  /**
   * Whether the first batch, which may be empty, contains the events of the current turn up to that number, for protocols that
   * repeat a block's content at its end.
   */
  readonly wholeTurn?: boolean;
}

/** What a watcher receives: a snapshot first, if it has no number to resume after, then events. */
export type WatchItem =
  | { readonly type: 'snapshot'; readonly reason: 'joined' | 'gap'; readonly snapshot: Snapshot }
  | { readonly type: 'events'; readonly batch: EventBatch<PodEvent> };

/** The watched pod, which stays in memory until `done` is called. */
export interface Watchable {
  readonly journal: Journal;
  readonly takeSnapshot: () => Snapshot;
  readonly done: () => void;
}

/**
 * Yields every event after a number once. Without a number, or if that is no longer possible, a snapshot comes first. It is a
 * single generator because every delta passes through it, and each nested generator would add its cost.
 */
export async function* watchPod(
  enter: () => Promise<Watchable>,
  { after, wholeTurn = false }: WatchFrom,
  signal: AbortSignal,
): AsyncGenerator<WatchItem> {
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
        // The oldest events were removed while the reader was about to read them. Treated like any other gap.
        if (!(error instanceof PolypodError) || error.code !== 'not-found') throw error;
      }
    }
    const snapshot = takeSnapshot();
    const batches = journal.feed.watch(snapshot.seq, controller.signal);
    await journal.written();
    yield { type: 'snapshot', reason: after === undefined ? 'joined' : 'gap', snapshot };
    for await (const batch of batches) yield { type: 'events', batch };
  } finally {
    // Also runs for a consumer that stops after the snapshot.
    controller.abort();
    release();
    done();
  }
}

/** The earlier events of the turn that contains a number, if requested; undefined if the watcher cannot resume there. */
async function turnBefore(
  journal: Journal,
  after: number,
  wholeTurn: boolean,
): Promise<readonly PodEvent[] | undefined> {
  if (!(await journal.canResume(after))) return undefined;
  return wholeTurn ? journal.turnUntil(after) : [];
}
