import { withoutPartialEnd, withoutPartialStart } from '../text/shorten.ts';

/** The beginning and the end of an output of any length, in fixed memory. */
export class OutputWindow {
  /** The number of bytes received. */
  total = 0;
  /** The number of line breaks received. */
  lineEnds = 0;
  readonly #head: Buffer;
  /** A ring buffer of the last bytes that do not fit into the head. */
  readonly #tail: Buffer;

  constructor(headBytes: number, tailBytes: number) {
    this.#head = Buffer.alloc(headBytes);
    this.#tail = Buffer.alloc(tailBytes);
  }

  add(bytes: Uint8Array): void {
    for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1))
      this.lineEnds += 1;
    const room = Math.max(0, this.#head.length - this.total);
    this.#head.set(bytes.subarray(0, room), Math.min(this.total, this.#head.length));
    this.total += Math.min(room, bytes.length);
    this.#addToTail(bytes.subarray(room));
  }

  get fits(): boolean {
    return this.wouldFit(0);
  }

  /** Returns whether this many more bytes fit without loss. */
  wouldFit(more: number): boolean {
    return this.total + more <= this.#head.length + this.#tail.length;
  }

  /** Returns all bytes, as long as they fit. */
  all(): Buffer {
    return Buffer.concat([this.#head.subarray(0, this.total), this.#orderedTail()]);
  }

  /** Returns the last bytes, limited by the window, without a partial character at their start. */
  end(maxBytes: number): string {
    const bytes = this.fits ? this.all() : this.#orderedTail();
    return decodeText(
      bytes.length <= maxBytes ? bytes : withoutPartialStart(bytes.subarray(bytes.length - maxBytes)),
    );
  }

  /** Returns the bytes from a position on, as far as the window has them, and the position of the first. */
  from(position: number): { readonly start: number; readonly bytes: Buffer } {
    const kept = this.fits ? this.all() : this.#orderedTail();
    const first = this.total - kept.length;
    const start = Math.max(position, first);
    return { start, bytes: kept.subarray(start - first) };
  }

  /** Returns the output; a separate line marks what is missing in the middle. */
  text(mark: (missingBytes: number) => string): string {
    if (this.fits) return decodeText(this.all());
    const head = untilLineEnd(withoutPartialEnd(this.#head));
    const tail = fromLineStart(withoutPartialStart(this.#orderedTail()));
    const missing = this.total - head.length - tail.length;
    return `${decodeText(head).replace(/\n$/, '')}\n${mark(missing)}\n${decodeText(tail)}`;
  }

  #addToTail(bytes: Uint8Array): void {
    const size = this.#tail.length;
    const last = bytes.subarray(Math.max(0, bytes.length - size));
    const start = (this.total - this.#head.length + bytes.length - last.length) % size;
    const untilEnd = size - start;
    if (last.length > 0) {
      this.#tail.set(last.subarray(0, untilEnd), start);
      this.#tail.set(last.subarray(untilEnd), 0);
    }
    this.total += bytes.length;
  }

  #orderedTail(): Buffer {
    const size = this.#tail.length;
    const length = Math.max(0, this.total - this.#head.length);
    if (length <= size) return this.#tail.subarray(0, length);
    const start = length % size;
    return Buffer.concat([this.#tail.subarray(start), this.#tail.subarray(0, start)]);
  }
}

/** Creates a window of the size for models. */
export function windowForModel(): OutputWindow {
  return new OutputWindow(HEAD_BYTES, TAIL_BYTES);
}

const HEAD_BYTES = 10 * 1024;
/** Errors are usually reported at the end. */
const TAIL_BYTES = 20 * 1024;

function decodeText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}

/** Cuts at the last line break, unless that would lose much. */
function untilLineEnd(bytes: Uint8Array): Uint8Array {
  const end = bytes.lastIndexOf(LINE_FEED) + 1;
  return end > bytes.length / 2 ? bytes.subarray(0, end) : bytes;
}

/** Starts at the first line break, unless that would lose much. */
function fromLineStart(bytes: Uint8Array): Uint8Array {
  const start = bytes.indexOf(LINE_FEED) + 1;
  return start < bytes.length / 2 ? bytes.subarray(start) : bytes;
}

const LINE_FEED = 0x0a;
