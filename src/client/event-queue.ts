import { PolypodError } from '../base/index.ts';

/** Queues received items for one reader. `isFull` signals that the sender should be paused. */
export class EventQueue<T> {
  readonly #capacity: number;
  readonly #onDrained: () => void;
  #queue: T[] = [];
  #end: { readonly error: PolypodError | undefined } | undefined;
  #hasReader = false;
  #wake = (): void => {};

  constructor(capacity: number, onDrained: () => void) {
    this.#capacity = capacity;
    this.#onDrained = onDrained;
  }

  get isFull(): boolean {
    return this.#queue.length >= this.#capacity;
  }

  push(item: T): void {
    this.#queue.push(item);
    this.#wake();
  }

  /** Ends the queue: the reader receives the remaining items, then the error, if any. */
  end(error: PolypodError | undefined): void {
    this.#end ??= { error };
    this.#wake();
  }

  async *read(): AsyncGenerator<T> {
    if (this.#hasReader)
      throw new PolypodError(
        'conflict',
        'the events already have a reader: only one reader per client is allowed',
      );
    this.#hasReader = true;
    for (;;) {
      const items = this.#queue;
      this.#queue = [];
      yield* items;
      if (items.length > 0) this.#onDrained();
      else if (this.#end !== undefined) {
        if (this.#end.error !== undefined) throw this.#end.error;
        return;
      } else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
