import type { CursorPosition } from './live.ts';

/** Collects bytes and knows where they leave the cursor, so that it moves with the fewest. */
export class Cursor {
  bytes = '';
  #at: CursorPosition;
  /** How many rows exist below the first; further ones are made by a line feed. */
  #existing: number;
  /** Whether it moves down by line feeds. These make the rows that a terminal which became lower has dropped. */
  readonly #feedsLines: boolean;
  #wraps = true;

  constructor(at: CursorPosition, existing: number, feedsLines: boolean) {
    this.#at = at;
    this.#existing = existing;
    this.#feedsLines = feedsLines;
  }

  goTo({ row, column }: CursorPosition): void {
    const last = this.#existing - 1;
    this.#vertically(Math.min(row, last));
    if (row > last) {
      this.bytes += `\r${'\n'.repeat(row - last)}`;
      this.#existing = row + 1;
      this.#at = { row, column: 0 };
    }
    if (column === this.#at.column) return;
    this.bytes += column === 0 ? '\r' : `\u001b[${column + 1}G`;
    this.#at = { row, column };
  }

  /** Writes a text from where the cursor is, after which the row is so wide. */
  write(bytes: string, width: number, columns: number): void {
    this.bytes += bytes;
    // After the last column terminals disagree about where the cursor is: only a carriage return is sure.
    this.#at = { row: this.#at.row, column: width < columns ? width : Number.NaN };
  }

  send(sequence: string): void {
    this.bytes += sequence;
  }

  /** Erases all rows with this sequence: there is only the first one then. */
  eraseAll(sequence: string): void {
    this.goTo({ row: 0, column: 0 });
    this.send(sequence);
    this.#existing = 1;
  }

  /** Whether text that reaches the last column goes on in the next row. */
  setWrap(wraps: boolean): void {
    if (wraps !== this.#wraps) this.send(wraps ? WRAP : NO_WRAP);
    this.#wraps = wraps;
  }

  #vertically(row: number): void {
    const distance = row - this.#at.row;
    if (distance === 0) return;
    // Moving from the last column is not the same everywhere either.
    if (Number.isNaN(this.#at.column)) {
      this.bytes += '\r';
      this.#at = { row: this.#at.row, column: 0 };
    }
    if (distance > 0 && this.#feedsLines) {
      this.bytes += `${this.#at.column === 0 ? '' : '\r'}${'\n'.repeat(distance)}`;
      this.#at = { row, column: 0 };
      return;
    }
    if (distance === 1 && this.#at.column === 0) this.bytes += '\n';
    else
      this.bytes += `\u001b[${Math.abs(distance) === 1 ? '' : Math.abs(distance)}${distance < 0 ? 'A' : 'B'}`;
    this.#at = { row, column: this.#at.column };
  }
}

const NO_WRAP = '\u001b[?7l';
const WRAP = '\u001b[?7h';
