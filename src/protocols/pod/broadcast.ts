import { asPolypodError, PolypodError } from '../../base/index.ts';
import { type Batch, isReaderTooSlow, type Pod, type PodEvent } from '../../pod/index.ts';
import { encode } from './encode.ts';
import type { Said } from './wire-lines.ts';
import { Scene } from './projection-state.ts';
import { type Stand, statusLines } from './status.ts';
import { Telling, type Told } from './event-lines.ts';

/** One that hears a pod. */
export interface Listener {
  /** Events of the pod, in order; what it has already it passes over. */
  deliver(telling: Telling): void;
  /** An answer that goes to everybody. */
  hear(said: readonly Said[]): void;
  /** The pod was closed, or has failed. */
  end(reason: PolypodError | undefined): void;
}

/**
 * One pod, told to all its clients. It watches the pod once, whatever the number of clients, so what the wire has to remember
 * is remembered once and every event is encoded once.
 */
export class Broadcast {
  readonly pod: Pod;
  readonly #listeners = new Set<Listener>();
  readonly #stop = new AbortController();
  readonly #onEnd: () => void;
  #scene: Scene;
  #failure: PolypodError | undefined;

  /** Resolves when it hears: nothing that happens afterwards is missed. `onEnd` is called when it hears no more. */
  static async open(pod: Pod, onEnd: () => void): Promise<Broadcast> {
    const broadcast = new Broadcast(pod, Scene.of(await pod.snapshot()), onEnd);
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

  private constructor(pod: Pod, scene: Scene, onEnd: () => void) {
    this.pod = pod;
    this.#scene = scene;
    this.#onEnd = onEnd;
  }

  /** The number of the last event that was told. */
  get seq(): number {
    return this.#scene.seq;
  }

  get isQuiet(): boolean {
    return this.#scene.isQuiet;
  }

  /** Whether it hears no more. */
  get isOver(): boolean {
    return this.#stop.signal.aborted;
  }

  /** The pod as it was told last; what an earlier scene needs to know beside its own turn. */
  get stand(): Stand & { readonly turn: number } {
    const { podId, name, state, turn } = this.#scene;
    return { podId, name, state, turn };
  }

  status(): readonly Said[] {
    return statusLines(this.#scene);
  }

  add(listener: Listener): void {
    this.#listeners.add(listener);
  }

  /** The last one to leave ends it. */
  remove(listener: Listener): void {
    if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
    this.#stop.abort();
    this.#onEnd();
  }

  say(said: readonly Said[]): void {
    for (const listener of this.#listeners) listener.hear(said);
  }

  /** Goes on where it was when more came at once than a watcher may leave unread. */
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
          `too much happened at once: connect again and subscribe after ${this.seq}`,
        );
      if (watched.type === 'snapshot') this.#scene = Scene.of(watched.snapshot);
      else if (hasBegun) this.#tell(watched.batch);
      else this.#scene.recall(watched.batch.events);
      hasBegun = true;
      onBegin();
    }
  }

  #tell(batch: Batch<PodEvent>): void {
    const telling = tell(batch, this.#scene);
    for (const listener of this.#listeners) listener.deliver(telling);
  }

  #end(reason: PolypodError | undefined): void {
    this.#failure = reason;
    this.#stop.abort();
    this.#onEnd();
    for (const listener of this.#listeners) listener.end(reason);
    this.#listeners.clear();
  }
}

/** What is told of a batch, after which the scene is another. */
export function tell(batch: Batch<PodEvent>, scene: Scene): Telling {
  const told: Told[] = [];
  for (const event of batch.events) {
    told.push({ seq: event.seq, said: encode(event, scene) });
    scene.apply(event);
  }
  return new Telling(told);
}
