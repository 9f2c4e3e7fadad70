import { PolypodError } from '../base/index.ts';

/** Queues received items for one reader. */
export class EventQueue<T> {
  readonly #capacity: number;
  #queue: T[] = [];
  #end: { readonly error: PolypodError | undefined } | undefined;
  #hasReader = false;
  #wake = (): void => {};
  #drained = (): void => {};

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Resolves when the queue is not full, or has ended. */
  async room(): Promise<void> {
    while (this.#queue.length >= this.#capacity && this.#end === undefined)
      await new Promise<void>((resolve) => {
        this.#drained = resolve;
      });
  }

  push(item: T): void {
    this.#queue.push(item);
    this.#wake();
  }

  /** Ends the queue: the reader receives the remaining items, then the error, if any. */
  end(error: PolypodError | undefined): void {
    this.#end ??= { error };
    this.#wake();
    this.#drained();
  }

  async *read(): AsyncGenerator<T> {
    if (this.#hasReader)
      throw new PolypodError(
        'conflict',
        'the events already have a reader: only one reader per client is allowed',
      );
    this.#hasReader = true;
    for (;;) {
      // Nothing is awaited between the check and the wait, so no item is missed.
      while (this.#queue.length === 0 && this.#end === undefined)
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      const items = this.#queue;
      if (items.length === 0) break;
      this.#queue = [];
      yield* items;
      this.#drained();
    }
    if (this.#end?.error !== undefined) throw this.#end.error;
  }
}
