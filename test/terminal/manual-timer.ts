import type { Timer } from '../../src/terminal/index.ts';

/** A timer that the test advances. */
export class ManualTimer implements Timer {
  #now = 0;
  #waiting: { readonly at: number; readonly callback: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const entry = { at: this.#now + ms, callback };
    this.#waiting.push(entry);
    return () => {
      this.#waiting = this.#waiting.filter((each) => each !== entry);
    };
  }

  /** The number of pending callbacks: 0 means that the program is idle. */
  get waiting(): number {
    return this.#waiting.length;
  }

  pass(ms: number): void {
    const until = this.#now + ms;
    for (let next = this.#next(until); next !== undefined; next = this.#next(until)) {
      const due = next;
      this.#now = due.at;
      this.#waiting = this.#waiting.filter((each) => each !== due);
      due.callback();
    }
    this.#now = until;
  }

  #next(until: number) {
    return this.#waiting.filter(({ at }) => at <= until).toSorted((a, b) => a.at - b.at)[0];
  }
}
