import { derivedAbort, PolypodError } from '../base/index.ts';
import type { PodEvent } from './event.ts';
import { Batch } from './feed/index.ts';
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
  | { readonly type: 'events'; readonly batch: Batch<PodEvent> };

export interface WatchParts {
  readonly journal: Journal;
  readonly takeSnapshot: () => Snapshot;
}

/** Everything after a number, each event once; without one, or where that is no longer possible, a snapshot first. */
export async function* watchPod(
  parts: WatchParts,
  from: WatchFrom,
  signal: AbortSignal,
): AsyncGenerator<Watched> {
  try {
    if (from.after !== undefined && (yield* resume(parts, from.after, from.wholeTurn ?? false, signal)))
      return;
  } catch (error) {
    // The oldest events have been let go while a reader was on its way to them: that is a gap like any other.
    if (!(error instanceof PolypodError) || error.code !== 'not-found') throw error;
  }
  yield* join(parts, from.after === undefined ? 'joined' : 'gap', signal);
}

/** False when what follows that number cannot be told. */
async function* resume(
  { journal }: WatchParts,
  after: number,
  wholeTurn: boolean,
  signal: AbortSignal,
): AsyncGenerator<Watched, boolean> {
  if (!(await journal.canResume(after))) return false;
  const turn = wholeTurn ? await journal.turnUntil(after) : [];
  if (turn === undefined) return false;
  const { controller, release } = derivedAbort(signal);
  const batches = journal.feed.watch(after, controller.signal);
  try {
    if (wholeTurn) yield { type: 'events', batch: new Batch(turn) };
    for await (const batch of batches) yield { type: 'events', batch };
    return true;
  } finally {
    // Also for one that never listens.
    controller.abort();
    release();
  }
}

async function* join(
  { journal, takeSnapshot }: WatchParts,
  reason: 'joined' | 'gap',
  signal: AbortSignal,
): AsyncGenerator<Watched> {
  const snapshot = takeSnapshot();
  const { controller, release } = derivedAbort(signal);
  const batches = journal.feed.watch(snapshot.seq, controller.signal);
  try {
    await journal.written();
    yield { type: 'snapshot', reason, snapshot };
    for await (const batch of batches) yield { type: 'events', batch };
  } finally {
    // Also for one that leaves with the snapshot and never listens.
    controller.abort();
    release();
  }
}
