import { asPolypodError, type PolypodError } from '../../../base/index.ts';
import { isReaderTooSlow, type Pod, type PodEvent, type Snapshot } from '../../../pod/index.ts';

export interface EventForwarderParts {
  readonly join: (snapshot: Snapshot) => Promise<void>;
  readonly tell: (event: PodEvent) => void | Promise<void>;
  /** What is told until it is let go leaves together. */
  readonly hold: () => () => void;
  /** Resolves when more may be told. */
  readonly drained: () => Promise<void>;
  /** The pod's events have ended with an error: it was removed, or can no longer be written. */
  readonly failed: (error: PolypodError) => void;
}

/** Brings a pod's events to the link, as fast as the client takes them: what it has not taken stays in the pod's log. */
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

  /** Resolves when no more events come: the pod was removed, or has failed, or the pump was stopped. */
  get ended(): Promise<void> {
    return this.#running;
  }

  /** Whether the pod's events have ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Why they have ended; undefined for a pod that was closed. */
  get failure(): PolypodError | undefined {
    return this.#failure;
  }

  /** Whether the link follows another pod by now. */
  get isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Follows again if the events had ended: the pod was closed, or there was no room for it. Resolves when it follows. */
  async resume(): Promise<void> {
    if (!this.#isOver || this.isStopped) return;
    this.#start();
    await this.reached(0);
  }

  /** Resolves when everything up to a number has been told, or nothing more will be. */
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
        // Somebody has closed the pod: it is opened again, unless that brings nothing.
        if (this.#stop.signal.aborted || this.#seq === before) return;
      } catch (thrown) {
        // Too far behind to be held in memory; what was missed is read from the log.
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
      await this.#tell(watched.batch.events);
      this.#reach(watched.batch.lastSeq);
      await drained();
      if (signal.aborted) return;
    }
  }

  async #tell(events: readonly PodEvent[]): Promise<void> {
    const letGo = this.#parts.hold();
    try {
      for (const event of events) {
        const telling = this.#parts.tell(event);
        if (telling !== undefined) await telling;
      }
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
