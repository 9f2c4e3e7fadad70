import { type PolypodError, ReaderTooSlowError } from '../../base/index.ts';
import type { EventBatch } from './batch.ts';

/**
 * One reader's queue. It never blocks the feed: when the queue exceeds its limit, the reader is disconnected with the number to
 * resume after, and the queued events are dropped.
 */
export class Watcher<Fact> {
  readonly #limit: number;
  #queue: EventBatch<Fact>[] = [];
  #queued = 0;
  #lastTaken: number;
  #end: 'open' | 'closed' | 'behind' = 'open';
  #error: PolypodError | undefined;
  #wake: (() => void) | undefined;

  /** `limit` is the maximum number of queued events. */
  constructor(limit: number, after: number) {
    this.#limit = limit;
    this.#lastTaken = after;
  }

  /** Whether the reader was too slow. It receives no more events. */
  get isBehind(): boolean {
    return this.#end === 'behind';
  }

  push(batch: EventBatch<Fact>): void {
    if (this.#end !== 'open') return;
    this.#queue.push(batch);
    this.#queued += batch.events.length;
    // One batch may exceed the limit: a reader with an otherwise empty queue is not slow.
    if (this.#queued > this.#limit && this.#queue.length > 1) {
      this.#queue = [];
      this.#end = 'behind';
    }
    this.#wake?.();
  }

  /** Queued events are still delivered, then the error, if any. */
  close(error?: PolypodError): void {
    if (this.#end === 'open') this.#error = error;
    if (this.#end === 'open') this.#end = 'closed';
    this.#wake?.();
  }

  /** Returns undefined at the end. Rejects with `overloaded` if the reader was too slow, or with the error of the feed. */
  async next(): Promise<EventBatch<Fact> | undefined> {
    for (;;) {
      const next = this.#queue.shift();
      // The whole batch counts, including events that are not returned.
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

  /** Skips events that the reader received from the journal. */
  skipTo(seq: number): void {
    this.#lastTaken = Math.max(this.#lastTaken, seq);
  }

  #behind(): PolypodError {
    const message = `more than ${this.#limit} events were waiting to be read; watch again after ${this.#lastTaken}`;
    return new ReaderTooSlowError(message);
  }
}
