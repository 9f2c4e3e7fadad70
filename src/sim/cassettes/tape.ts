import type { Chunk } from './cassette.ts';

/**
 * Takes a body in as fast as it comes and lets its reader follow: what is recorded, and with which times, then depends
 * neither on how fast that reader is nor on whether it reads to the end. A decoder that has seen the finish does not.
 */
export class Tape implements AsyncIterable<Uint8Array> {
  readonly chunks: Chunk[] = [];
  readonly #clock: () => number;
  readonly #giveUp: () => void;
  #ending: { readonly thrown?: unknown } | undefined;
  #leaving: NodeJS.Timeout | undefined;
  #wake: (() => void) | undefined;

  /** `giveUp` has to break the body off: it is called when the reader has left and the rest does not come. */
  constructor(clock: () => number, giveUp: () => void) {
    this.#clock = clock;
    this.#giveUp = giveUp;
  }

  /** Resolves at the end of the body; where it breaks, with what `explain` makes of the reason. */
  async run<T>(body: AsyncIterable<Uint8Array>, explain: (thrown: unknown) => T): Promise<T | undefined> {
    try {
      for await (const bytes of body) {
        // The copy keeps what came, whatever the transport does with its buffer afterwards.
        this.chunks.push({ atMs: this.#clock(), bytes: new Uint8Array(bytes) });
        this.#wake?.();
      }
      this.#end({});
      return undefined;
    } catch (thrown) {
      // Before the reader hears of it: it may then abort, and that would pass for the reason.
      const explanation = explain(thrown);
      this.#end({ thrown });
      return explanation;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (let next = 0; ; ) {
        const chunk = this.chunks[next];
        if (chunk !== undefined) {
          next += 1;
          yield chunk.bytes;
          continue;
        }
        if (this.#ending !== undefined) {
          if ('thrown' in this.#ending) throw this.#ending.thrown;
          return;
        }
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      if (this.#ending === undefined) this.#leaving = setTimeout(this.#giveUp, TAIL_MS);
    }
  }

  #end(ending: { readonly thrown?: unknown }): void {
    this.#ending = ending;
    clearTimeout(this.#leaving);
    this.#wake?.();
  }
}

/** How long the tail of an answer that nobody reads any more may take, so that it is in the recording. */
const TAIL_MS = 1000;
