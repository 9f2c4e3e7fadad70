import { withoutPartialEnd, withoutPartialStart } from '../text/shorten.ts';

/** The beginning and the end of an output of any length, in memory of a fixed size. */
export class OutputWindow {
  /** How many bytes have come. */
  total = 0;
  /** How many line ends were among them. */
  lineEnds = 0;
  readonly #head: Buffer;
  /** The last bytes that do not fit into the head; a ring. */
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

  /** Whether nothing is lost when so many bytes more come. */
  wouldFit(more: number): boolean {
    return this.total + more <= this.#head.length + this.#tail.length;
  }

  /** All bytes, as long as they fit. */
  all(): Buffer {
    return Buffer.concat([this.#head.subarray(0, this.total), this.#orderedTail()]);
  }

  /** The last bytes, at most as many as the window has, without a part of a character at their start. */
  end(most: number): string {
    const bytes = this.fits ? this.all() : this.#orderedTail();
    return textOf(bytes.length <= most ? bytes : withoutPartialStart(bytes.subarray(bytes.length - most)));
  }

  /** The output; what is missing in its middle is replaced by a line of its own. */
  text(mark: (missingBytes: number) => string): string {
    if (this.fits) return textOf(this.all());
    const head = wholeLines(withoutPartialEnd(this.#head));
    const tail = fromLineStart(withoutPartialStart(this.#orderedTail()));
    const missing = this.total - head.length - tail.length;
    return `${textOf(head).replace(/\n$/, '')}\n${mark(missing)}\n${textOf(tail)}`;
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

/** As much as a model is given of an output. */
export function windowForModel(): OutputWindow {
  return new OutputWindow(HEAD_BYTES, TAIL_BYTES);
}

const HEAD_BYTES = 10 * 1024;
/** What went wrong is told at the end. */
const TAIL_BYTES = 20 * 1024;

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
}

/** Up to the last line break, unless that would be much less. */
function wholeLines(bytes: Uint8Array): Uint8Array {
  const end = bytes.lastIndexOf(LINE_FEED) + 1;
  return end > bytes.length / 2 ? bytes.subarray(0, end) : bytes;
}

/** From the first line break on, unless that would be much less. */
function fromLineStart(bytes: Uint8Array): Uint8Array {
  const start = bytes.indexOf(LINE_FEED) + 1;
  return start < bytes.length / 2 ? bytes.subarray(start) : bytes;
}

const LINE_FEED = 0x0a;
