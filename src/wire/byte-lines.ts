import { PolypodError } from '../base/index.ts';

const NEWLINE = 10;

/**
 * Cuts what a stranger sends into lines ended by LF, without trusting it: a line is refused by itself when it is not UTF-8,
 * and the whole stream when a line does not end. Blank lines are skipped.
 */
export class ByteLines {
  readonly #maxBytes: number;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #pieces: Uint8Array[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that these bytes complete; one that cannot be read comes as the reason. Throws when a line is too long. */
  push(bytes: Uint8Array): (string | PolypodError)[] {
    const lines: (string | PolypodError)[] = [];
    let from = 0;
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, from)) {
      this.#keep(bytes.subarray(from, at));
      this.#complete(lines);
      from = at + 1;
    }
    this.#keep(bytes.subarray(from));
    return lines;
  }

  /** What stands behind the last LF, if anything does. */
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
    const line = this.#decoded(bytes);
    if (line instanceof PolypodError || line.trim() !== '') lines.push(line);
  }

  #decoded(bytes: Uint8Array): string | PolypodError {
    try {
      return this.#decoder.decode(bytes);
    } catch (thrown) {
      return new PolypodError('bad-request', 'a line is not UTF-8', { cause: thrown });
    }
  }
}
