import { asPolypodError, onAbort, type PolypodError } from '../../base/index.ts';
import type { Pod } from '../../pod/index.ts';
import type { Broadcast, BroadcastListener } from './broadcast.ts';
import { catchUp } from './catch-up.ts';
import { errorLines } from './errors.ts';
import { answerLines, type EncodedBatch, type ProjectedEvent } from './encode/event-lines.ts';
import type { PodDoor } from './pod-door.ts';
import { wireSnapshot } from './encode/snapshot.ts';
import { type BatchFacts, UnreadBatches } from './unread-batches.ts';
import { toExtended, type WireLine } from './encode/wire-lines.ts';

export interface ProjectedEventsOptions {
  /** The number to resume after. Without one, a snapshot comes first. */
  readonly after?: number;
  readonly signal: AbortSignal;
  /** The maximum number of unread lines. */
  readonly limit: number;
}

type Batch = readonly ProjectedEvent[];

const FACTS: BatchFacts<Batch> = {
  size: (events) => events.reduce((sum, { lines }) => sum + lines.length, 0),
  lastSeq: (events) => events.findLast(({ source }) => source !== undefined)?.lines.at(-1)?.seq,
};

/**
 * A pod's events with their lines of the extended protocol, for a door that selects by event and forwards the lines. All live readers of a
 * pod get the same batches. Ends with the pod or the signal; throws `overloaded` when the reader is too slow.
 */
export async function* projectedEvents(
  door: PodDoor,
  pod: Pod,
  { after, signal, limit }: ProjectedEventsOptions,
): AsyncGenerator<Batch> {
  const unread = new UnreadBatches(limit, FACTS);
  const reader = await door.join(pod, (broadcast) => new ProjectedReader(broadcast, unread, after));
  const forget = onAbort(signal, () => unread.end());
  try {
    for (let batches = unread.take(); batches !== undefined; batches = unread.take()) {
      for (const batch of batches) yield batch;
      if (batches.length === 0) await unread.more();
    }
  } finally {
    forget();
    unread.end();
    reader.leave();
  }
}

/** One reader of a broadcast. It receives past events first, then the live ones. */
class ProjectedReader implements BroadcastListener {
  readonly #broadcast: Broadcast;
  readonly #unread: UnreadBatches<Batch>;
  readonly #gone = new AbortController();
  #seq: number;
  /** False while it reads past events. */
  #isLive = false;

  constructor(broadcast: Broadcast, unread: UnreadBatches<Batch>, after: number | undefined) {
    this.#broadcast = broadcast;
    this.#unread = unread;
    this.#seq = broadcast.seq;
    broadcast.add(this);
    this.#catchUp(after).catch((thrown: unknown) => this.end(asPolypodError(thrown)));
  }

  deliver(batch: EncodedBatch): void {
    if (!this.#isLive || batch.lastSeq <= this.#seq) return;
    this.#push(batch.projected(this.#seq));
    this.#seq = batch.lastSeq;
  }

  /** Answers to requests of other clients are ignored. */
  deliverAnswer(): void {}

  end(reason: PolypodError | undefined): void {
    if (reason !== undefined) this.#push([about(undefined, errorLines(reason, undefined))]);
    this.leave();
    this.#unread.end();
  }

  leave(): void {
    this.#gone.abort();
    this.#broadcast.remove(this);
  }

  #catchUp(after: number | undefined): Promise<void> {
    return catchUp(this.#broadcast, after, {
      onSnapshot: (snapshot, reason) =>
        this.#push([
          about(
            { type: 'snapshot', snapshot },
            [toExtended('snapshot', wireSnapshot(snapshot, reason))],
            snapshot.seq,
          ),
        ]),
      onSubscribed: (seq) => this.#push([about(undefined, [toExtended('subscribed', { after: seq })])]),
      onBatch: (batch) => this.#push(batch.projected(0)),
      onLive: (seq) => {
        [this.#seq, this.#isLive] = [seq, true];
      },
      drained: () => this.#unread.drained(),
      signal: this.#gone.signal,
    });
  }

  #push(batch: Batch): void {
    if (batch.length > 0 && !this.#gone.signal.aborted) this.#unread.push(batch);
  }
}

function about(source: ProjectedEvent['source'], lines: readonly WireLine[], seq?: number): ProjectedEvent {
  return { source, lines: answerLines('extended', lines, seq === undefined ? {} : { seq }).events };
}
