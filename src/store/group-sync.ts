/** Group commit: runs one sync at a time, each for all callers that arrived during the previous one. */
export class GroupSync {
  readonly #sync: () => Promise<void>;
  #running: Promise<void> | undefined;
  #next: Promise<void> | undefined;

  constructor(sync: () => Promise<void>) {
    this.#sync = sync;
  }

  /** Resolves when a sync that started after this call has finished. A running sync does not cover later writes. */
  wait(): Promise<void> {
    if (this.#next !== undefined) return this.#next;
    if (this.#running === undefined) return this.#start();
    const start = () => {
      this.#next = undefined;
      return this.#start();
    };
    this.#next = this.#running.then(start, start);
    return this.#next;
  }

  /** Resolves when no sync is running. */
  async idle(): Promise<void> {
    for (;;) {
      const last = this.#next ?? this.#running;
      if (last === undefined) return;
      await last.catch(() => {});
    }
  }

  #start(): Promise<void> {
    const running = this.#sync().finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
    this.#running = running;
    return running;
  }
}
