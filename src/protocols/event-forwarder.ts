import { asPolypodError, type PolypodError } from '../base/index.ts';
import { isReaderTooSlow, type Pod, type PodEvent, type Snapshot } from '../pod/index.ts';

export interface EventForwarderParts {
  readonly join: (snapshot: Snapshot) => Promise<void>;
  readonly forward: (events: readonly PodEvent[]) => void | Promise<void>;
  /** Collects output until the returned function is called. */
  readonly hold: () => () => void;
  /** Resolves when the client can receive more. */
  readonly drained: () => Promise<void>;
  /** The pod's events have ended with an error: the session was removed, or can no longer be written. */
  readonly failed: (error: PolypodError) => void;
}

/** Forwards a pod's events to the link as fast as the client reads them. Unread events stay in the pod's log. */
export class EventForwarder {
  readonly pod: Pod;
  readonly #parts: EventForwarderParts;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #isOver = false;
  #failure: PolypodError | undefined;
  #seq = -1;
  #waiting: { readonly seq: number; readonly resolve: () => void }[] = [];

  constructor(pod: Pod, parts: EventForwarderParts) {
    this.pod = pod;
    this.#parts = parts;
    this.#start();
  }

  /** Resolves when no more events follow: the pod was removed or has failed, or the forwarder was stopped. */
  get ended(): Promise<void> {
    return this.#running;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Why the events have ended; undefined for a pod that was closed. */
  get failure(): PolypodError | undefined {
    return this.#failure;
  }

  /** Whether the link has moved to another pod. */
  get isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Watches again if the events had ended: the pod was closed, or could not be loaded. Resolves when the watch is active. */
  async resume(): Promise<void> {
    if (!this.#isOver || this.isStopped) return;
    this.#start();
    await this.reached(0);
  }

  /** Resolves when all events up to a number have been forwarded, or no more will be. */
  reached(seq: number): Promise<void> {
    if (this.#seq >= seq || this.#stop.signal.aborted) return Promise.resolve();
    return Promise.race([
      new Promise<void>((resolve) => this.#waiting.push({ seq, resolve })),
      this.#running,
    ]);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #start(): void {
    this.#isOver = false;
    this.#running = this.#run()
      .catch((thrown: unknown) => {
        this.#failure = asPolypodError(thrown);
        if (!this.isStopped) this.#parts.failed(this.#failure);
      })
      .finally(() => {
        this.#isOver = true;
      });
  }

  async #run(): Promise<void> {
    for (;;) {
      const before = this.#seq;
      try {
        await this.#follow();
        // The pod was closed: it is opened again, unless the last attempt yielded no event.
        if (this.#stop.signal.aborted || this.#seq === before) return;
      } catch (thrown) {
        // The reader was too slow for the queue in memory: the missed events are read from the log.
        if (!isReaderTooSlow(thrown) || this.#stop.signal.aborted) throw thrown;
      }
    }
  }

  async #follow(): Promise<void> {
    const { join, drained } = this.#parts;
    const { signal } = this.#stop;
    const from = this.#seq < 0 ? {} : { after: this.#seq };
    for await (const watched of this.pod.watch({ signal, ...from })) {
      if (watched.type === 'snapshot') {
        await join(watched.snapshot);
        this.#reach(watched.snapshot.seq);
        continue;
      }
      await this.#forward(watched.batch.events);
      this.#reach(watched.batch.lastSeq);
      await drained();
      if (signal.aborted) return;
    }
  }

  async #forward(events: readonly PodEvent[]): Promise<void> {
    const letGo = this.#parts.hold();
    try {
      await this.#parts.forward(events);
    } finally {
      letGo();
    }
  }

  #reach(seq: number): void {
    this.#failure = undefined;
    this.#seq = seq;
    const reached = this.#waiting.filter((waiting) => waiting.seq <= seq);
    this.#waiting = this.#waiting.filter((waiting) => waiting.seq > seq);
    for (const { resolve } of reached) resolve();
  }
}
