/** An event with its number. Numbers only increase, also across restarts. */
export type Numbered<Fact> = Fact & { readonly seq: number };

/** Events that were published together. All watchers share one instance, so that a door encodes it once for all connections. */
export class EventBatch<Fact> {
  readonly events: readonly Numbered<Fact>[];
  readonly #encoded = new Map<unknown, unknown>();

  constructor(events: readonly Numbered<Fact>[]) {
    this.events = events;
  }

  get lastSeq(): number {
    return this.events.at(-1)?.seq ?? 0;
  }

  /** Returns the batch as encoded by a door's function. The result is cached by function. */
  as<T>(encode: (events: readonly Numbered<Fact>[]) => T): T {
    if (this.#encoded.has(encode)) {
      // The cached value for a function is that function's result.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return this.#encoded.get(encode) as T;
    }
    const encoded = encode(this.events);
    this.#encoded.set(encode, encoded);
    return encoded;
  }

  /** Returns the events after a number, or the batch itself if that is all of it. */
  after(seq: number): EventBatch<Fact> | undefined {
    const [first] = this.events;
    if (first === undefined || this.lastSeq <= seq) return undefined;
    return first.seq > seq ? this : new EventBatch(this.events.filter((event) => event.seq > seq));
  }
}
