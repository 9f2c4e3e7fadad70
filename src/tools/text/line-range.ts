import { withoutPartialEnd } from './shorten.ts';

export interface LineCaps {
  /** Of one line; the rest of it is left out. */
  readonly lineBytes: number;
  /** Of all lines together; lines that would go beyond are left out. */
  readonly bytes: number;
}

/** A line of a file without its line break. */
export interface RangeLine {
  readonly bytes: Uint8Array;
  readonly cut: boolean;
}

/** Takes a range of lines out of bytes that come in pieces, and keeps no more of them than the caps allow. */
export class LineRange {
  readonly lines: RangeLine[] = [];
  readonly #first: number;
  readonly #count: number;
  readonly #caps: LineCaps;
  /** Of the line that is being read; the first is 1. */
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

  add(piece: Uint8Array): void {
    for (let at = 0; at < piece.length; ) {
      const lineBreak = piece.indexOf(LINE_FEED, at);
      const end = lineBreak === -1 ? piece.length : lineBreak;
      this.#take(piece.subarray(at, end));
      if (lineBreak !== -1) this.#endLine();
      at = end + 1;
    }
  }

  /** No more bytes will come. */
  end(): void {
    if (this.#length > 0) this.#endLine();
  }

  /** Whether more bytes can add no line to the range. */
  get complete(): boolean {
    return this.#full || this.#number >= this.#first + this.#count;
  }

  /** How many lines have ended so far. */
  get total(): number {
    return this.#number - 1;
  }

  #take(part: Uint8Array): void {
    if (this.#number >= this.#first && !this.complete && this.#length < this.#caps.lineBytes) {
      // A copy: the piece's memory is used again for the next one.
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
