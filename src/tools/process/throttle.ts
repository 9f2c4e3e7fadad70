/** Calls `send` soon after a touch, but not more often than every so many milliseconds; there is no timer while nothing happens. */
export class Throttle {
  readonly #everyMs: number;
  readonly #send: () => void;
  #sentAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(everyMs: number, send: () => void) {
    this.#everyMs = everyMs;
    this.#send = send;
  }

  touch(): void {
    if (this.#timer !== undefined) return;
    const waitMs = this.#sentAt + this.#everyMs - performance.now();
    if (waitMs <= 0) this.#sendNow();
    else this.#timer = setTimeout(() => this.#sendNow(), waitMs);
  }

  /** What was touched and not sent stays unsent. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #sendNow(): void {
    this.#timer = undefined;
    this.#sentAt = performance.now();
    this.#send();
  }
}
