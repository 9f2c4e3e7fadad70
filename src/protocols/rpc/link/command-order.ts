/** A command that takes longer than this lets others pass. Quick ones are answered in the order they came in. */
const GRACE_MS = 500;

/**
 * Runs the commands of a client one after the other. While one of them waits for something long, those behind it that may
 * overtake are run meanwhile; the others keep their order.
 */
export class CommandOrder {
  readonly #graceMs: number;
  /** Until all commands so far that keep their order are done. */
  #ordered: Promise<unknown> = Promise.resolve();
  /** Until all commands so far that may overtake are done. */
  #overtaking: Promise<unknown> = Promise.resolve();
  /** Those that have overtaken something and are not done. */
  readonly #passing = new Set<Promise<void>>();
  readonly #waiting = new Set<() => void>();
  #longWaits = 0;

  constructor(graceMs = GRACE_MS) {
    this.#graceMs = graceMs;
  }

  /** Runs it once everything before it is done; nothing overtakes a barrier. `work` must not reject. */
  inOrder(work: () => void | Promise<void>, isBarrier = false): Promise<void> {
    const before = Promise.all([this.#ordered, this.#overtaking]);
    // What has overtaken it may still be under way, and must not see its effects halfway.
    const done = before.then(() => Promise.all(this.#passing)).then(work);
    this.#ordered = done;
    if (isBarrier) this.#overtaking = Promise.all([this.#overtaking, done]);
    return done;
  }

  /** Runs it once everything before it is done, or waits for something long. `work` must not reject. */
  overtaking(work: () => void | Promise<void>): Promise<void> {
    const { inFront, before } = { inFront: this.#ordered, before: this.#overtaking };
    const done = before.then(() => this.#passable(inFront)).then(() => this.#pass(work));
    this.#overtaking = done;
    return done;
  }

  /** What has not come through here: nothing behind it begins before it is done. It must not reject. */
  add(done: Promise<void>): void {
    this.#ordered = Promise.all([this.#ordered, done]);
    this.#overtaking = Promise.all([this.#overtaking, done]);
  }

  /** Whether a command waits for something that takes long. */
  get isWaitingLong(): boolean {
    return this.#longWaits > 0;
  }

  /** Resolves when all commands so far are done. */
  async idle(): Promise<void> {
    await Promise.all([this.#ordered, this.#overtaking]);
  }

  /** For the command that is being run: what it waits for may take long. */
  async longWait<T>(awaited: Promise<T>): Promise<T> {
    let isLong = false;
    const grace = setTimeout(() => {
      isLong = true;
      this.#longWaits += 1;
      for (const pass of this.#waiting) pass();
    }, this.#graceMs);
    try {
      return await awaited;
    } finally {
      clearTimeout(grace);
      if (isLong) this.#longWaits -= 1;
    }
  }

  /** Resolves when what is in front is done, or lets others pass. */
  #passable(inFront: Promise<unknown>): void | Promise<void> {
    if (this.#longWaits > 0) return;
    return new Promise((resolve) => {
      const pass = (): void => {
        this.#waiting.delete(pass);
        resolve();
      };
      this.#waiting.add(pass);
      void inFront.then(pass);
    });
  }

  async #pass(work: () => void | Promise<void>): Promise<void> {
    const passing = Promise.resolve(work());
    this.#passing.add(passing);
    await passing;
    this.#passing.delete(passing);
  }
}
