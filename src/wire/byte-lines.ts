import { PolypodError } from '../base/index.ts';

const NEWLINE = 10;

/**
 * Splits untrusted bytes into lines ended by LF. A line that is not UTF-8 is rejected on its own; a line that
 * does not end makes the whole stream fail. Blank lines are skipped.
 */
export class ByteLines {
  readonly #maxBytes: number;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #pieces: Uint8Array[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Returns the lines that these bytes complete, with an error in place of an undecodable line. Throws if a
   * line is too long.
   */
  push(bytes: Uint8Array): (string | PolypodError)[] {
    const lines: (string | PolypodError)[] = [];
    let start = 0;
    for (let newline = bytes.indexOf(NEWLINE); newline >= 0; newline = bytes.indexOf(NEWLINE, start)) {
      this.#keep(bytes.subarray(start, newline));
      this.#complete(lines);
      start = newline + 1;
    }
    this.#keep(bytes.subarray(start));
    return lines;
  }

  /** Returns the text after the last LF, if any. */
  end(): (string | PolypodError)[] {
    const lines: (string | PolypodError)[] = [];
    this.#complete(lines);
    return lines;
  }

  #keep(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#length += piece.length;
    if (this.#length > this.#maxBytes) {
      this.#pieces = [];
      throw new PolypodError('bad-request', `a line is longer than ${this.#maxBytes} bytes`);
    }
    this.#pieces.push(piece);
  }

  #complete(lines: (string | PolypodError)[]): void {
    const [only] = this.#pieces;
    const bytes = this.#pieces.length === 1 && only !== undefined ? only : Buffer.concat(this.#pieces);
    [this.#pieces, this.#length] = [[], 0];
    const line = this.#decode(bytes);
    if (line instanceof PolypodError || line.trim() !== '') lines.push(line);
  }

  #decode(bytes: Uint8Array): string | PolypodError {
    try {
      return this.#decoder.decode(bytes);
    } catch (thrown) {
      return new PolypodError('bad-request', 'a line is not UTF-8', { cause: thrown });
    }
  }
}
