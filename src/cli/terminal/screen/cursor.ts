import type { Place } from './live.ts';

/** Collects bytes and knows where they leave the cursor, so that it moves with the fewest. */
export class Cursor {
  bytes = '';
  #at: Place;
  /** How many rows exist below the first; further ones are made by a line feed. */
  #existing: number;

  constructor(at: Place, existing: number) {
    this.#at = at;
    this.#existing = existing;
  }

  goTo({ row, column }: Place): void {
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

  #vertically(row: number): void {
    const distance = row - this.#at.row;
    if (distance === 0) return;
    // Moving from the last column is not the same everywhere either.
    if (Number.isNaN(this.#at.column)) {
      this.bytes += '\r';
      this.#at = { row: this.#at.row, column: 0 };
    }
    if (distance === 1 && this.#at.column === 0) this.bytes += '\n';
    else
      this.bytes += `\u001b[${Math.abs(distance) === 1 ? '' : Math.abs(distance)}${distance < 0 ? 'A' : 'B'}`;
    this.#at = { row, column: this.#at.column };
  }
}
