import { PolypodError } from '../../base/index.ts';

/** The properties of a batch that the queue needs. */
export interface BatchFacts<Batch> {
  /** The number of lines in it. */
  readonly size: (batch: Batch) => number;
  /** The number of the last event in it; undefined when it has none. */
  readonly lastSeq: (batch: Batch) => number | undefined;
}

/**
 * The batches that a reader in this process has not read. Beyond the limit they are dropped, and the reader gets an error with the number
 * to resume after. Readers call `take` and `more` alternately: a generator would add cost to every delta.
 */
export class UnreadBatches<Batch> {
  readonly #limit: number;
  readonly #facts: BatchFacts<Batch>;
  #batches: Batch[] = [];
  #size = 0;
  #readSeq = 0;
  #end: 'open' | 'over' | { readonly thrown: unknown } = 'open';
  #wakeReader = (): void => {};
  #wakeWriter = (): void => {};

  /** `limit`: how many lines may be unread. */
  constructor(limit: number, facts: BatchFacts<Batch>) {
    this.#limit = limit;
    this.#facts = facts;
  }

  push(batch: Batch): void {
    if (this.#end !== 'open') return;
    this.#batches.push(batch);
    this.#size += this.#facts.size(batch);
    // One batch may exceed the limit: a reader that has read all others is not slow. A slow disk makes such batches.
    if (this.#size > this.#limit && this.#batches.length > 1)
      this.fail(
        new PolypodError(
          'overloaded',
          `more than ${this.#limit} events were unread: subscribe after ${this.#readSeq}`,
        ),
      );
    this.#wakeReader();
  }

  /** Ends the queue after the unread batches. */
  end(): void {
    if (this.#end === 'open') this.#end = 'over';
    this.#wakeAll();
  }

  /** Ends the queue with an error and drops the unread batches. */
  fail(thrown: unknown): void {
    this.#batches = [];
    this.#end = { thrown };
    this.#wakeAll();
  }

  /** Resolves when the reader has read everything or has stopped reading. */
  async drained(): Promise<void> {
    while (this.#batches.length > 0 && this.#end === 'open')
      await new Promise<void>((resolve) => {
        this.#wakeWriter = resolve;
      });
  }

  /** Returns all unread batches, which may be none; undefined at the end. */
  take(): readonly Batch[] | undefined {
    const batches = this.#batches;
    if (batches.length === 0) {
      if (this.#end === 'over') return undefined;
      if (this.#end !== 'open') throw this.#end.thrown;
      return batches;
    }
    [this.#batches, this.#size] = [[], 0];
    this.#readSeq = this.#lastSeqIn(batches) ?? this.#readSeq;
    return batches;
  }

  /** Resolves when `take` returns something new, or at the end. */
  more(): Promise<void> {
    this.#wakeWriter();
    return new Promise((resolve) => {
      this.#wakeReader = resolve;
    });
  }

  #lastSeqIn(batches: readonly Batch[]): number | undefined {
    for (const batch of batches.toReversed()) {
      const seq = this.#facts.lastSeq(batch);
      if (seq !== undefined) return seq;
    }
    return undefined;
  }

  #wakeAll(): void {
    this.#wakeReader();
    this.#wakeWriter();
  }
}
