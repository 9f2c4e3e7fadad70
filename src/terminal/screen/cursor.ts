import type { CursorPosition } from './live.ts';

/** Collects output bytes and tracks the cursor position, so that moves need the fewest bytes. */
export class Cursor {
  bytes = '';
  #position: CursorPosition;
  /** How many rows exist from the first one; a line feed creates further ones. */
  #existing: number;
  /** Whether to move down by line feeds, which also create rows that a shrunken terminal has dropped. */
  readonly #feedsLines: boolean;
  #wraps = true;

  constructor(position: CursorPosition, existing: number, feedsLines: boolean) {
    this.#position = position;
    this.#existing = existing;
    this.#feedsLines = feedsLines;
  }

  goTo({ row, column }: CursorPosition): void {
    const last = this.#existing - 1;
    this.#moveVertically(Math.min(row, last));
    if (row > last) {
      this.bytes += `\r${'\n'.repeat(row - last)}`;
      this.#existing = row + 1;
      this.#position = { row, column: 0 };
    }
    if (column === this.#position.column) return;
    this.bytes += column === 0 ? '\r' : `\u001b[${column + 1}G`;
    this.#position = { row, column };
  }

  /** Writes text at the cursor; `width` is the width of the row afterwards. */
  write(bytes: string, width: number, columns: number): void {
    this.bytes += bytes;
    // Terminals disagree about the cursor position after the last column: only a carriage return is reliable.
    this.#position = { row: this.#position.row, column: width < columns ? width : Number.NaN };
  }

  send(sequence: string): void {
    this.bytes += sequence;
  }

  /** Erases all rows with this sequence; only the first one exists afterwards. */
  eraseAll(sequence: string): void {
    this.goTo({ row: 0, column: 0 });
    this.send(sequence);
    this.#existing = 1;
  }

  /** Sets whether text that reaches the last column wraps. */
  setWrap(wraps: boolean): void {
    if (wraps !== this.#wraps) this.send(wraps ? WRAP : NO_WRAP);
    this.#wraps = wraps;
  }

  #moveVertically(row: number): void {
    const distance = row - this.#position.row;
    if (distance === 0) return;
    // Moving from the last column also differs between terminals.
    if (Number.isNaN(this.#position.column)) {
      this.bytes += '\r';
      this.#position = { row: this.#position.row, column: 0 };
    }
    if (distance > 0 && this.#feedsLines) {
      this.bytes += `${this.#position.column === 0 ? '' : '\r'}${'\n'.repeat(distance)}`;
      this.#position = { row, column: 0 };
      return;
    }
    if (distance === 1 && this.#position.column === 0) this.bytes += '\n';
    else
      this.bytes += `\u001b[${Math.abs(distance) === 1 ? '' : Math.abs(distance)}${distance < 0 ? 'A' : 'B'}`;
    this.#position = { row, column: this.#position.column };
  }
}

const NO_WRAP = '\u001b[?7l';
const WRAP = '\u001b[?7h';
