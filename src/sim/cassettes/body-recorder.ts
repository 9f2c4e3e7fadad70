import type { Chunk } from './cassette.ts';

/**
 * Buffers a body as fast as it arrives and lets a reader follow. What is recorded, and with which times, then
 * depends neither on the speed of the reader nor on whether it reads to the end: a decoder stops at the finish
 * marker.
 */
export class BodyRecorder implements AsyncIterable<Uint8Array> {
  readonly chunks: Chunk[] = [];
  readonly #clock: () => number;
  readonly #giveUp: () => void;
  #ending: { readonly thrown?: unknown } | undefined;
  #abandonTimer: NodeJS.Timeout | undefined;
  #wake: (() => void) | undefined;

  /**
   * `giveUp` must abort the body. It is called when the reader has stopped and the rest does not arrive in
   * time.
   */
  constructor(clock: () => number, giveUp: () => void) {
    this.#clock = clock;
    this.#giveUp = giveUp;
  }

  /** Resolves at the end of the body. If the body breaks, resolves with `explain(reason)`. */
  async run<T>(body: AsyncIterable<Uint8Array>, explain: (thrown: unknown) => T): Promise<T | undefined> {
    try {
      for await (const bytes of body) {
        // A copy, because the transport may reuse its buffer.
        this.chunks.push({ atMs: this.#clock(), bytes: new Uint8Array(bytes) });
        this.#wake?.();
      }
      this.#end({});
      return undefined;
    } catch (thrown) {
      // Before the reader is notified: it may then abort, which would be recorded as the reason.
      const explanation = explain(thrown);
      this.#end({ thrown });
      return explanation;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (let index = 0; ; ) {
        const chunk = this.chunks[index];
        if (chunk !== undefined) {
          index += 1;
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
      if (this.#ending === undefined) this.#abandonTimer = setTimeout(this.#giveUp, TAIL_MS);
    }
  }

  #end(ending: { readonly thrown?: unknown }): void {
    this.#ending = ending;
    clearTimeout(this.#abandonTimer);
    this.#wake?.();
  }
}

/** How long to wait for the rest of a response after its reader has stopped. */
const TAIL_MS = 1000;
