/** Other commands may overtake a command that takes longer than this. Quick ones are answered in order. */
const GRACE_MS = 500;

/**
 * Runs the commands of a client one after the other. While one of them is in a long wait, later commands that may overtake it are run; the
 * others keep their order.
 */
export class CommandOrder {
  readonly #graceMs: number;
  /** Resolves when all ordered commands so far are done. */
  #ordered: Promise<unknown> = Promise.resolve();
  /** Resolves when all overtaking commands so far are done. */
  #overtaking: Promise<unknown> = Promise.resolve();
  /** Commands that have overtaken another one and are not done. */
  readonly #passing = new Set<Promise<void>>();
  readonly #waiting = new Set<() => void>();
  #longWaits = 0;

  constructor(graceMs = GRACE_MS) {
    this.#graceMs = graceMs;
  }

  /** Runs the command after all commands before it. Nothing overtakes a barrier. `work` must not reject. */
  inOrder(work: () => void | Promise<void>, isBarrier = false): Promise<void> {
    const before = Promise.all([this.#ordered, this.#overtaking]);
    // An overtaking command may still be running, and must not see partial effects.
    const done = before.then(() => Promise.all(this.#passing)).then(work);
    this.#ordered = done;
    if (isBarrier) this.#overtaking = Promise.all([this.#overtaking, done]);
    return done;
  }

  /** Runs the command once all commands before it are done or in a long wait. `work` must not reject. */
  overtaking(work: () => void | Promise<void>): Promise<void> {
    const { inFront, before } = { inFront: this.#ordered, before: this.#overtaking };
    const done = before.then(() => this.#passable(inFront)).then(() => this.#pass(work));
    this.#overtaking = done;
    return done;
  }

  /** Adds work that runs outside this queue: later commands wait for it. It must not reject. */
  add(done: Promise<void>): void {
    this.#ordered = Promise.all([this.#ordered, done]);
    this.#overtaking = Promise.all([this.#overtaking, done]);
  }

  /** Whether a command is in a long wait. */
  get isWaitingLong(): boolean {
    return this.#longWaits > 0;
  }

  /** Resolves when all commands so far are done. */
  async idle(): Promise<void> {
    await Promise.all([this.#ordered, this.#overtaking]);
  }

  /** Awaits a promise on behalf of the running command; others may overtake it meanwhile. */
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

  /** Resolves when the commands in front are done or in a long wait. */
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
