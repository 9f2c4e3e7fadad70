export interface Rate {
  readonly perMinute: number;
  /** How many are allowed at once. */
  readonly burst: number;
}

/** A token bucket: `burst` at once, then `perMinute` evenly. */
export class TokenBucket {
  readonly #rate: Rate;
  readonly #now: () => number;
  #tokens: number;
  #refilledAt: number;

  constructor(rate: Rate, now: () => number = () => performance.now()) {
    this.#rate = rate;
    this.#now = now;
    this.#tokens = rate.burst;
    this.#refilledAt = now();
  }

  /** Takes a token. Returns 0, or the seconds until the next one is available. */
  take(): number {
    const wait = this.wait();
    if (wait === 0) this.#tokens -= 1;
    return wait;
  }

  /** Like `take`, but without taking a token. */
  wait(): number {
    this.#refill();
    return this.#tokens >= 1 ? 0 : Math.ceil((1 - this.#tokens) * (60 / this.#rate.perMinute));
  }

  /** Returns a token that was taken for a free operation. */
  refund(): void {
    this.#tokens = Math.min(this.#rate.burst, this.#tokens + 1);
  }

  #refill(): void {
    const now = this.#now();
    const gained = ((now - this.#refilledAt) * this.#rate.perMinute) / 60_000;
    this.#tokens = Math.min(this.#rate.burst, this.#tokens + gained);
    this.#refilledAt = now;
  }
}

/** One token bucket per name. The table is bounded: the least recently used name is dropped first. */
export class RateTable {
  readonly #rate: Rate;
  readonly #now: (() => number) | undefined;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(rate: Rate, now?: () => number) {
    this.#rate = rate;
    this.#now = now;
  }

  get size(): number {
    return this.#buckets.size;
  }

  /** Takes a token. Returns 0, or the seconds until the next one is available. */
  take(name: string): number {
    const bucket = this.#buckets.get(name) ?? new TokenBucket(this.#rate, this.#now);
    // A Map keeps insertion order, so the first entry is always the least recently used.
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
    if (this.#buckets.size > MAX_NAMES) this.#dropOldest();
    return bucket.take();
  }

  /** Like `take`, but without taking a token. */
  wait(name: string): number {
    return this.#buckets.get(name)?.wait() ?? 0;
  }

  refund(name: string): void {
    this.#buckets.get(name)?.refund();
  }

  #dropOldest(): void {
    for (const name of this.#buckets.keys()) {
      this.#buckets.delete(name);
      return;
    }
  }
}

export const MAX_NAMES = 10_000;
