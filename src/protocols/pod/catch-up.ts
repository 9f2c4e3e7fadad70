import { asPolypodError } from '../../base/index.ts';
import type { Snapshot } from '../../pod/index.ts';
import { type Broadcast, tell } from './broadcast.ts';
import { type Said, toExtended } from './said.ts';
import { Scene } from './scene.ts';
import { wireSnapshot } from './snapshot.ts';
import type { Telling } from './telling.ts';

/** The one that catches up. */
export interface Latecomer {
  readonly say: (said: readonly Said[], seq?: number) => void;
  readonly tell: (telling: Telling) => void;
  /** Resolves when it has read what it was told: it gets the past at its own pace. */
  readonly drained: () => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * Tells a client what was before its time, until it is where everybody is, and answers with that number. Without a number to
 * begin after, or where what follows that is no longer kept, it begins with a snapshot.
 *
 * It has its own watch and its own scene, so that nobody waits for it.
 */
export async function catchUp(
  broadcast: Broadcast,
  after: number | undefined,
  client: Latecomer,
): Promise<number> {
  if (after === undefined) {
    const snapshot = await broadcast.pod.snapshot();
    return follow(broadcast, showSnapshot(client, snapshot, 'joined'), client);
  }
  if (after !== broadcast.seq) return follow(broadcast, after, client, () => saySubscribed(client, after));
  saySubscribed(client, after);
  return after;
}

async function follow(
  broadcast: Broadcast,
  after: number,
  client: Latecomer,
  onResume?: () => void,
): Promise<number> {
  let seq = after;
  let begin = onResume;
  while (!client.signal.aborted && !broadcast.isOver) {
    // In the same breath: nothing can be told to the others in between.
    if (begin === undefined && broadcast.seq <= seq) return seq;
    let scene: Scene | undefined;
    try {
      const { signal } = client;
      for await (const watched of broadcast.pod.watch({ after: seq, wholeTurn: true, signal })) {
        if (watched.type === 'snapshot') {
          seq = showSnapshot(client, watched.snapshot, 'gap');
          scene = Scene.of(watched.snapshot);
        } else if (scene === undefined) {
          scene = new Scene({ ...broadcast.stand, seq });
          scene.recall(watched.batch.events);
          begin?.();
        } else {
          client.tell(tell(watched.batch, scene));
          seq = watched.batch.lastSeq;
        }
        begin = undefined;
        if (broadcast.seq <= seq) return seq;
        await client.drained();
      }
      return seq;
    } catch (thrown) {
      const error = asPolypodError(thrown);
      // It read too slowly for its own watch, and goes on where it was.
      if (error.code !== 'overloaded') throw error;
    }
  }
  return seq;
}

function showSnapshot(client: Latecomer, snapshot: Snapshot, reason: 'joined' | 'gap'): number {
  client.say([toExtended('snapshot', wireSnapshot(snapshot, reason))], snapshot.seq);
  return snapshot.seq;
}

function saySubscribed(client: Latecomer, after: number): void {
  client.say([toExtended('subscribed', { after })]);
}
