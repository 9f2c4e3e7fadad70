import { PolypodError } from '../base/index.ts';

/** What came and was not yet read, in order. Past `room` whoever fills it is asked to wait. */
export class Inbox<T> {
  readonly #room: number;
  readonly #onRoom: () => void;
  #waiting: T[] = [];
  #end: { readonly error: PolypodError | undefined } | undefined;
  #isRead = false;
  #wake = (): void => {};

  constructor(room: number, onRoom: () => void) {
    this.#room = room;
    this.#onRoom = onRoom;
  }

  get isFull(): boolean {
    return this.#waiting.length >= this.#room;
  }

  push(item: T): void {
    this.#waiting.push(item);
    this.#wake();
  }

  /** What came still is read, then the error, if there is one. */
  end(error: PolypodError | undefined): void {
    this.#end ??= { error };
    this.#wake();
  }

  async *read(): AsyncGenerator<T> {
    if (this.#isRead)
      throw new PolypodError('conflict', 'the events are being read already: one reader per client');
    this.#isRead = true;
    for (;;) {
      const items = this.#waiting;
      this.#waiting = [];
      yield* items;
      if (items.length > 0) this.#onRoom();
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
