import { setTimeout as sleep } from 'node:timers/promises';
import { httpRefusal } from '../../../wire/index.ts';
import { drainingError } from '../errors.ts';
import type { KeyRecord } from '../keys/key.ts';

interface LiveStream {
  readonly key: KeyRecord;
  readonly end: (why: string) => void;
}

/** The open streams and their keys: revoking a key ends them. */
export class LiveStreams {
  readonly #streams = new Set<LiveStream>();
  readonly #byKey = new Map<string, number>();
  readonly #limit: number;
  #isClosing = false;
  #resolveEmpty = (): void => {};

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** Registers a stream until the returned function is called. `end` is called when it must end. */
  add(key: KeyRecord, end: (why: string) => void): () => void {
    if (this.#isClosing) throw drainingError();
    const own = this.#byKey.get(key.id) ?? 0;
    if (own >= this.#limit)
      throw httpRefusal(429, 'too_many_streams', `this key has ${own} streams open already: close some`, {
        headers: { 'retry-after': '5' },
      });
    const stream = { key, end };
    this.#streams.add(stream);
    this.#byKey.set(key.id, own + 1);
    return () => {
      if (!this.#streams.delete(stream)) return;
      const left = (this.#byKey.get(key.id) ?? 0) - 1;
      if (left > 0) this.#byKey.set(key.id, left);
      else this.#byKey.delete(key.id);
      if (this.#streams.size === 0) this.#resolveEmpty();
    };
  }

  endWhere(isOver: (key: KeyRecord) => boolean, why: (key: KeyRecord) => string): void {
    for (const { key, end } of this.#streams) if (isOver(key)) end(why(key));
  }

  /** Ends all streams, refuses new ones, and waits for a while until clients were sent the reason. */
  async close(why: string, graceMs: number): Promise<void> {
    this.#isClosing = true;
    const empty = new Promise<void>((resolve) => {
      this.#resolveEmpty = resolve;
    });
    for (const { end } of this.#streams) end(why);
    if (this.#streams.size > 0) await Promise.race([empty, sleep(graceMs, undefined, { ref: false })]);
  }
}
