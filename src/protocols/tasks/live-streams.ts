import { httpRefusal } from '../../wire/index.ts';
import type { KeyRecord } from './keys/key.ts';

interface LiveStream {
  readonly key: KeyRecord;
  readonly end: (why: string) => void;
}

/** The connections that stay open, and whose they are: a key that is revoked ends them. */
export class LiveStreams {
  readonly #streams = new Set<LiveStream>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** Keeps one until the answer is called; `end` is called when it may go on no longer. */
  add(key: KeyRecord, end: (why: string) => void): () => void {
    const own = [...this.#streams].filter((stream) => stream.key.id === key.id).length;
    if (own >= this.#limit)
      throw httpRefusal(429, 'too_many_streams', `this key has ${own} streams open already: close some`, {
        headers: { 'retry-after': '5' },
      });
    const stream = { key, end };
    this.#streams.add(stream);
    return () => this.#streams.delete(stream);
  }

  endWhere(isOver: (key: KeyRecord) => boolean, why: string): void {
    for (const { key, end } of this.#streams) if (isOver(key)) end(why);
  }
}
