export interface Rate {
  readonly perMinute: number;
  /** How many may come at once. */
  readonly burst: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** How often each may ask: a bucket that fills steadily, one per name. Names that have not asked for long are forgotten. */
export class Rates {
  readonly #rate: Rate;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate, now: () => number = () => performance.now()) {
    this.#rate = rate;
    this.#now = now;
  }

  /** Takes one; 0 if there was one, else the seconds until there is. */
  take(name: string): number {
    const bucket = this.#refilled(name);
    if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) * (60 / this.#rate.perMinute));
    bucket.tokens -= 1;
    return 0;
  }

  #refilled(name: string): Bucket {
    const now = this.#now();
    const bucket = this.#buckets.get(name) ?? { tokens: this.#rate.burst, at: now };
    bucket.tokens = Math.min(
      this.#rate.burst,
      bucket.tokens + ((now - bucket.at) * this.#rate.perMinute) / 60_000,
    );
    bucket.at = now;
    this.#buckets.set(name, bucket);
    if (this.#buckets.size > MOST_NAMES) this.#forget();
    return bucket;
  }

  /** The oldest names first. */
  #forget(): void {
    for (const name of this.#buckets.keys()) {
      if (this.#buckets.size <= MOST_NAMES / 2) return;
      this.#buckets.delete(name);
    }
  }
}

const MOST_NAMES = 10_000;
