import { httpRefusal } from '../../wire/index.ts';
import type { KeyRecord } from './keys/key.ts';

interface LiveStream {
  readonly key: KeyRecord;
  readonly end: (why: string) => void;
}

/** The connections that stay open, and whose they are: a key that is revoked ends them. */
export class LiveStreams {
  readonly #streams = new Set<LiveStream>();
  readonly #byKey = new Map<string, number>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** Keeps one until the answer is called; `end` is called when it may go on no longer. */
  add(key: KeyRecord, end: (why: string) => void): () => void {
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
    };
  }

  endWhere(isOver: (key: KeyRecord) => boolean, why: (key: KeyRecord) => string): void {
    for (const { key, end } of this.#streams) if (isOver(key)) end(why(key));
  }
}
