/** Calls `send` soon after a touch, but at most once per interval; no timer runs while nothing happens. */
export class Throttle {
  readonly #intervalMs: number;
  readonly #send: () => void;
  #sentAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(intervalMs: number, send: () => void) {
    this.#intervalMs = intervalMs;
    this.#send = send;
  }

  touch(): void {
    if (this.#timer !== undefined) return;
    const waitMs = this.#sentAt + this.#intervalMs - performance.now();
    if (waitMs <= 0) this.#sendNow();
    else this.#timer = setTimeout(() => this.#sendNow(), waitMs);
  }

  /** Discards a pending call. */
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
