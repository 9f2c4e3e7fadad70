import { isReaderTooSlow, type Snapshot } from '../../pod/index.ts';
import { type Broadcast, encodeBatch } from './broadcast.ts';
import { ProjectionState } from './encode/projection-state.ts';
import type { EncodedBatch } from './encode/event-lines.ts';

/** A client that catches up. */
export interface Latecomer {
  readonly onSnapshot: (snapshot: Snapshot, reason: 'joined' | 'gap') => void;
  /** The events after this number follow. */
  readonly onSubscribed: (after: number) => void;
  readonly onBatch: (batch: EncodedBatch) => void;
  /** It has all events up to this number: from now on it gets the live ones. */
  readonly onLive: (seq: number) => void;
  /** Resolves when it has read what it was sent: it gets past events at its own pace. */
  readonly drained: () => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Tells a client what was before its time, until it is where everybody is. Without a number to begin after, or where what
 * follows that is no longer kept, it begins with a snapshot.
 *
 * It has its own watch and its own projection state, so that nobody waits for it.
 */
export async function catchUp(
  broadcast: Broadcast,
  after: number | undefined,
  client: Latecomer,
): Promise<void> {
  let seq = after ?? showSnapshot(client, await broadcast.pod.snapshot(), 'joined');
  // Whether there is something after a number that a client has brought has to be looked up, unless all are there.
  let isKnown = after === undefined;
  if (after === broadcast.seq) isKnown = saySubscribed(client, after);
  while (!client.signal.aborted && !broadcast.isOver) {
    if (isKnown && hasArrived(broadcast, seq, client)) return;
    let projection: ProjectionState | undefined;
    try {
      const { signal } = client;
      for await (const watched of broadcast.pod.watch({ after: seq, wholeTurn: true, signal })) {
        if (watched.type === 'snapshot') {
          projection = ProjectionState.of(watched.snapshot);
          seq = showSnapshot(client, watched.snapshot, 'gap');
        } else if (projection === undefined) {
          projection = new ProjectionState({ ...broadcast.stand, seq });
          projection.recall(watched.batch.events);
          if (!isKnown) saySubscribed(client, seq);
        } else {
          client.onBatch(encodeBatch(watched.batch, projection));
          seq = watched.batch.lastSeq;
        }
        isKnown = true;
        if (hasArrived(broadcast, seq, client)) return;
        await client.drained();
      }
      // The pod was closed, or the client is gone.
      return;
    } catch (thrown) {
      // It read too slowly for its own watch, and goes on where it was.
      if (!isReaderTooSlow(thrown)) throw thrown;
    }
  }
}

/** Looked at and said in one breath: nothing can be told to the others in between. */
function hasArrived(broadcast: Broadcast, seq: number, client: Latecomer): boolean {
  if (broadcast.seq > seq) return false;
  client.onLive(seq);
  return true;
}

function showSnapshot(client: Latecomer, snapshot: Snapshot, reason: 'joined' | 'gap'): number {
  client.onSnapshot(snapshot, reason);
  return snapshot.seq;
}

function saySubscribed(client: Latecomer, after: number): true {
  client.onSubscribed(after);
  return true;
}
