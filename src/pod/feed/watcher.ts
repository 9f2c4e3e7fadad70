import { type PolypodError, ReaderTooSlow } from '../../base/index.ts';
import type { EventBatch } from './batch.ts';

/**
 * One reader's queue. It never holds up the feed: past its bound the reader is cut off, with the number it may resume
 * after, and what was queued is let go.
 */
export class Watcher<Fact> {
  readonly #limit: number;
  #queue: EventBatch<Fact>[] = [];
  #queued = 0;
  #lastTaken: number;
  #end: 'open' | 'closed' | 'behind' = 'open';
  #error: PolypodError | undefined;
  #wake: (() => void) | undefined;

  /** `limit` is how many events may wait. */
  constructor(limit: number, after: number) {
    this.#limit = limit;
    this.#lastTaken = after;
  }

  /** Whether the reader was too slow: what it has not got, it gets no more. */
  get isBehind(): boolean {
    return this.#end === 'behind';
  }

  push(batch: EventBatch<Fact>): void {
    if (this.#end !== 'open') return;
    this.#queue.push(batch);
    this.#queued += batch.events.length;
    // One batch may be larger than the bound: who has nothing else waiting is not slow.
    if (this.#queued > this.#limit && this.#queue.length > 1) {
      this.#queue = [];
      this.#end = 'behind';
    }
    this.#wake?.();
  }

  /** What is queued still comes, then the error if there is one. */
  close(error?: PolypodError): void {
    if (this.#end === 'open') this.#error = error;
    if (this.#end === 'open') this.#end = 'closed';
    this.#wake?.();
  }

  /** Undefined when it is over; rejects with `overloaded` when the reader was too slow, or with why there is no more. */
  async next(): Promise<EventBatch<Fact> | undefined> {
    for (;;) {
      const next = this.#queue.shift();
      // As much as came in with it, also what of it is not handed out.
      this.#queued -= next?.events.length ?? 0;
      const batch = next?.after(this.#lastTaken);
      if (batch !== undefined) {
        this.#lastTaken = batch.lastSeq;
        return batch;
      }
      if (this.#queue.length > 0) continue;
      if (this.#error !== undefined) throw this.#error;
      if (this.#end === 'closed') return undefined;
      if (this.#end === 'behind') throw this.#behind();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }

  /** What came another way, from the journal: it is not handed out again. */
  skipTo(seq: number): void {
    this.#lastTaken = Math.max(this.#lastTaken, seq);
  }

  #behind(): PolypodError {
    const message = `more than ${this.#limit} events were waiting to be read; watch again after ${this.#lastTaken}`;
    return new ReaderTooSlow(message);
  }
}
