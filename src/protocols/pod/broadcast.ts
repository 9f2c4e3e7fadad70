import { asPolypodError, PolypodError } from '../../base/index.ts';
import { type EventBatch, isReaderTooSlow, type Pod, type PodEvent } from '../../pod/index.ts';
import { encode } from './encode/encode.ts';
import type { WireLine } from './encode/wire-lines.ts';
import { ProjectionState } from './encode/projection-state.ts';
import { type StatusInput, statusLines } from './encode/status.ts';
import { BroadcastAnswer, EncodedBatch, type EventLines } from './encode/event-lines.ts';

/** A consumer of a pod's events. */
export interface BroadcastListener {
  /** Receives events of the pod, in order. Events that it already has must be skipped. */
  deliver(encoded: EncodedBatch): void;
  /** Receives an answer that goes to all clients. */
  deliverAnswer(answer: BroadcastAnswer): void;
  /** Called when the pod was closed or has failed. */
  end(reason: PolypodError | undefined): void;
}

/**
 * Distributes the events of one pod to all its clients. It watches the pod once for all clients, so that there is one projection state and
 * every event is encoded once.
 */
export class Broadcast {
  readonly pod: Pod;
  readonly #listeners = new Set<BroadcastListener>();
  readonly #stop = new AbortController();
  readonly #onEnd: () => void;
  #projection: ProjectionState;
  #failure: PolypodError | undefined;

  /** Resolves when the watch is active: no later event is missed. `onEnd` is called when it ends. */
  static async open(pod: Pod, onEnd: () => void): Promise<Broadcast> {
    const broadcast = new Broadcast(pod, ProjectionState.of(await pod.snapshot()), onEnd);
    await new Promise<void>((resolve) => {
      broadcast
        .#listen(resolve)
        .then(
          () => broadcast.#end(undefined),
          (thrown: unknown) => broadcast.#end(asPolypodError(thrown)),
        )
        .finally(resolve);
    });
    if (broadcast.#failure !== undefined) throw broadcast.#failure;
    return broadcast;
  }

  private constructor(pod: Pod, projection: ProjectionState, onEnd: () => void) {
    this.pod = pod;
    this.#projection = projection;
    this.#onEnd = onEnd;
  }

  /** The number of the last event that was delivered. */
  get seq(): number {
    return this.#projection.seq;
  }

  get isQuiet(): boolean {
    return this.#projection.isQuiet;
  }

  /** Whether the watch has ended. */
  get isOver(): boolean {
    return this.#stop.signal.aborted;
  }

  /** The pod's current status. An earlier projection state needs it in addition to its own turn. */
  get statusInput(): StatusInput & { readonly turn: number } {
    const { podId, name, state, turn } = this.#projection;
    return { podId, name, state, turn };
  }

  status(): readonly WireLine[] {
    return statusLines(this.#projection);
  }

  add(listener: BroadcastListener): void {
    this.#listeners.add(listener);
  }

  /** Removing the last listener ends the broadcast. */
  remove(listener: BroadcastListener): void {
    if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
    this.#stop.abort();
    this.#onEnd();
  }

  broadcast(lines: readonly WireLine[]): void {
    const answer = new BroadcastAnswer(lines);
    for (const listener of this.#listeners) listener.deliverAnswer(answer);
  }

  /** Resumes after the last event when a burst exceeded what a watcher may leave unread. */
  async #listen(onBegin: () => void): Promise<void> {
    for (let isFirst = true; ; isFirst = false) {
      try {
        await this.#follow(isFirst, onBegin);
        return;
      } catch (thrown) {
        if (!isReaderTooSlow(thrown)) throw thrown;
      }
    }
  }

  async #follow(isFirst: boolean, onBegin: () => void): Promise<void> {
    const { signal } = this.#stop;
    let hasBegun = !isFirst;
    for await (const watched of this.pod.watch({ after: this.seq, wholeTurn: isFirst, signal })) {
      if (hasBegun && watched.type === 'snapshot')
        throw new PolypodError(
          'internal',
          `too many events at once: reconnect and subscribe after ${this.seq}`,
        );
      if (watched.type === 'snapshot') this.#projection = ProjectionState.of(watched.snapshot);
      else if (hasBegun) this.#publish(watched.batch);
      else this.#projection.replayTurn(watched.batch.events);
      hasBegun = true;
      onBegin();
    }
  }

  #publish(batch: EventBatch<PodEvent>): void {
    const encoded = encodeBatch(batch, this.#projection);
    for (const listener of this.#listeners) listener.deliver(encoded);
  }

  #end(reason: PolypodError | undefined): void {
    this.#failure = reason;
    this.#stop.abort();
    this.#onEnd();
    for (const listener of this.#listeners) listener.end(reason);
    this.#listeners.clear();
  }
}

/** Encodes a batch and updates the projection state. */
export function encodeBatch(batch: EventBatch<PodEvent>, projection: ProjectionState): EncodedBatch {
  const encoded: EventLines[] = [];
  for (const event of batch.events) {
    encoded.push({ event, lines: encode(event, projection) });
    projection.apply(event);
  }
  return new EncodedBatch(encoded);
}
