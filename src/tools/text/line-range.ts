import { withoutPartialEnd } from './shorten.ts';

export interface LineCaps {
  /** Per line; the rest of it is cut. */
  readonly lineBytes: number;
  /** For all lines together; further lines are omitted. */
  readonly bytes: number;
}

/** A line of a file without its line break. */
export interface RangeLine {
  readonly bytes: Uint8Array;
  readonly cut: boolean;
}

/** Extracts a range of lines from bytes that arrive in chunks, keeping no more than the caps allow. */
export class LineRange {
  readonly lines: RangeLine[] = [];
  readonly #first: number;
  readonly #count: number;
  readonly #caps: LineCaps;
  /** The number of the current line, from 1. */
  #number = 1;
  #length = 0;
  #kept: Uint8Array[] = [];
  #bytes = 0;
  #full = false;

  constructor(first: number, count: number, caps: LineCaps) {
    this.#first = first;
    this.#count = count;
    this.#caps = caps;
  }

  add(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length; ) {
      const lineBreak = chunk.indexOf(LINE_FEED, at);
      const end = lineBreak === -1 ? chunk.length : lineBreak;
      this.#take(chunk.subarray(at, end));
      if (lineBreak !== -1) this.#endLine();
      at = end + 1;
    }
  }

  /** Marks the end of the input. */
  end(): void {
    if (this.#length > 0) this.#endLine();
  }

  /** Whether more bytes cannot add a line to the range. */
  get complete(): boolean {
    return this.#full || this.#number >= this.#first + this.#count;
  }

  /** The number of complete lines so far. */
  get total(): number {
    return this.#number - 1;
  }

  #take(part: Uint8Array): void {
    if (this.#number >= this.#first && !this.complete && this.#length < this.#caps.lineBytes) {
      // A copy: the chunk's memory is reused.
      this.#kept.push(part.slice(0, this.#caps.lineBytes - this.#length));
    }
    this.#length += part.length;
  }

  #endLine(): void {
    if (this.#number >= this.#first && !this.complete) this.#keepLine();
    this.#number += 1;
    this.#length = 0;
    this.#kept = [];
  }

  #keepLine(): void {
    const bytes = Buffer.concat(this.#kept);
    this.#full = this.#bytes + bytes.length > this.#caps.bytes;
    if (this.#full) return;
    this.#bytes += bytes.length;
    const cut = this.#length > this.#caps.lineBytes;
    this.lines.push({ bytes: cut ? withoutPartialEnd(bytes) : bytes, cut });
  }
}

const LINE_FEED = 0x0a;
