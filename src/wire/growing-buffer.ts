/**
 * Bytes that arrive in pieces and are read from the front. They are copied into one buffer that at least
 * doubles when full: the cost is linear in the bytes, and a million one-byte pieces take no more memory than
 * one large piece.
 */
export class GrowingBuffer {
  #bytes = EMPTY;
  #start = 0;
  #end = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  /** The bytes so far. Valid until the next call of `append` or `consume`. */
  get view(): Buffer {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  append(piece: Uint8Array): void {
    if (this.#end + piece.length > this.#bytes.length) this.#makeRoom(piece.length);
    this.#bytes.set(piece, this.#end);
    this.#end += piece.length;
  }

  /** Drops bytes from the front. */
  consume(count: number): void {
    this.#start += count;
    if (this.#start < this.#end) return;
    this.#start = 0;
    this.#end = 0;
    // Release the memory of the largest message while the connection is idle.
    if (this.#bytes.length > MAX_IDLE_BYTES) this.#bytes = EMPTY;
  }

  clear(): void {
    this.consume(this.length);
  }

  #makeRoom(more: number): void {
    const { view } = this;
    const roomy = Buffer.allocUnsafeSlow(Math.max(MIN_BYTES, (view.length + more) * 2));
    roomy.set(view);
    this.#bytes = roomy;
    this.#start = 0;
    this.#end = view.length;
  }
}

const EMPTY = Buffer.alloc(0);
const MIN_BYTES = 1024;
const MAX_IDLE_BYTES = 16 * 1024;
