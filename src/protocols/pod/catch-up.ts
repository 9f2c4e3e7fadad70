import { isReaderTooSlow, type Snapshot } from '../../pod/index.ts';
import { type Broadcast, encodeBatch } from './broadcast.ts';
import { ProjectionState } from './encode/projection-state.ts';
import type { EncodedBatch } from './encode/event-lines.ts';

/** A client that catches up with past events. */
export interface CatchUpClient {
  readonly onSnapshot: (snapshot: Snapshot, reason: 'joined' | 'gap') => void;
  /** Called before the events after this number. */
  readonly onSubscribed: (after: number) => void;
  readonly onBatch: (batch: EncodedBatch) => void;
  /** The client has all events up to this number and receives the live ones from now on. */
  readonly onLive: (seq: number) => void;
  /** Resolves when the client has read what it was sent, so that it receives past events at its own pace. */
  readonly drained: () => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Sends past events to a client until it has caught up with the broadcast. Starts with a snapshot if there is no number to resume after, or
 * if the events after that number are no longer stored. The client has its own watch and projection state, so that no other client waits
 * for it.
 */
export async function catchUp(
  broadcast: Broadcast,
  after: number | undefined,
  client: CatchUpClient,
): Promise<void> {
  let seq = after ?? showSnapshot(client, await broadcast.pod.snapshot(), 'joined');
  // Events after the client's number may no longer be stored. If there are none, no lookup is needed.
  let isKnown = after === undefined;
  if (after === broadcast.seq) isKnown = sendSubscribed(client, after);
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
          projection = new ProjectionState({ ...broadcast.statusInput, seq });
          projection.replayTurn(watched.batch.events);
          if (!isKnown) sendSubscribed(client, seq);
        } else {
          client.onBatch(encodeBatch(watched.batch, projection));
          seq = watched.batch.lastSeq;
        }
        isKnown = true;
        if (hasArrived(broadcast, seq, client)) return;
        await client.drained();
      }
      // The pod was closed, or the client has disconnected.
      return;
    } catch (thrown) {
      // The client read too slowly for its watch, which resumes after the last event.
      if (!isReaderTooSlow(thrown)) throw thrown;
    }
  }
}

/** Synchronous, so that no event can be broadcast between the check and `onLive`. */
function hasArrived(broadcast: Broadcast, seq: number, client: CatchUpClient): boolean {
  if (broadcast.seq > seq) return false;
  client.onLive(seq);
  return true;
}

function showSnapshot(client: CatchUpClient, snapshot: Snapshot, reason: 'joined' | 'gap'): number {
  client.onSnapshot(snapshot, reason);
  return snapshot.seq;
}

function sendSubscribed(client: CatchUpClient, after: number): true {
  client.onSubscribed(after);
  return true;
}
