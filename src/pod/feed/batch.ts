/** An event with its number; numbers only grow, also across a restart. */
export type Numbered<Fact> = Fact & { readonly seq: number };

/** What was published together. Every watcher gets the same one, so that a door's encoding is made once for all its links. */
export class EventBatch<Fact> {
  readonly events: readonly Numbered<Fact>[];
  readonly #encoded = new Map<unknown, unknown>();

  constructor(events: readonly Numbered<Fact>[]) {
    this.events = events;
  }

  get lastSeq(): number {
    return this.events.at(-1)?.seq ?? 0;
  }

  /** The batch as a door writes it; the same function always gives the same result, made at its first use. */
  as<T>(encode: (events: readonly Numbered<Fact>[]) => T): T {
    if (this.#encoded.has(encode)) {
      // What is kept under a function is what that function gave.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return this.#encoded.get(encode) as T;
    }
    const encoded = encode(this.events);
    this.#encoded.set(encode, encoded);
    return encoded;
  }

  /** What of it comes after a number; itself when that is all of it. */
  after(seq: number): EventBatch<Fact> | undefined {
    const [first] = this.events;
    if (first === undefined || this.lastSeq <= seq) return undefined;
    return first.seq > seq ? this : new EventBatch(this.events.filter((event) => event.seq > seq));
  }
}
