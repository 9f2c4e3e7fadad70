import { displayWidth } from '../../src/terminal/width.ts';
import { graphemes } from './samples.ts';

interface Row {
  cells: string[];
  /** Whether the text continues in the row below because the terminal became narrower. */
  isWrapped: boolean;
}

/** A terminal emulator for the sequences that we write; throws on any other. */
export class Vt {
  columns: number;
  rows: number;
  readonly modes = new Set<string>();
  #lines: Row[] = [row()];
  /** The index in `#lines` of the first line on the screen. */
  #top = 0;
  #at = { line: 0, column: 0 };
  #pendingWrap = false;
  #wraps = true;
  /** Whether text may run over the last column, as it does while the program does not know the width. */
  mayOverflow = false;
  bytes = 0;

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
  }

  write(text: string): void {
    this.bytes += text.length;
    for (let rest = text; rest !== ''; ) {
      const [sequence, parameters = '', final = ''] = rest.startsWith('\u001b')
        ? (SEQUENCE.exec(rest) ?? [])
        : [];
      if (sequence !== undefined) this.#control(parameters, final);
      const length = sequence?.length ?? this.#plain(rest);
      rest = rest.slice(length);
    }
  }

  /** All lines shown and not erased, scrollback first; text wrapped by a resize is one line. */
  get text(): string[] {
    const lines: string[] = [];
    let open = false;
    for (const { cells, isWrapped } of this.#lines) {
      const text = cells.join('');
      if (open) lines[lines.length - 1] += text;
      else lines.push(text);
      open = isWrapped;
    }
    return withoutEmptyEnd(lines.map((line) => line.trimEnd()));
  }

  get screen(): string[] {
    return withoutEmptyEnd(this.#lines.slice(this.#top).map(({ cells }) => cells.join('').trimEnd()));
  }

  /** The cursor, with its line counted as in `text`. */
  get cursor(): { line: number; column: number } {
    const above = this.#lines.slice(0, this.#at.line).filter(({ isWrapped }) => !isWrapped);
    return { line: above.length, column: this.#at.column };
  }

  /** Rewraps lines, like terminals with a scrollback. */
  resize(columns: number, rows: number): void {
    const before = this.#lines;
    const at = this.#at;
    this.#lines = [];
    this.columns = columns;
    this.rows = rows;
    let joined: string[] = [];
    let cursor: number | undefined;
    before.forEach(({ cells, isWrapped }, index) => {
      if (index === at.line) cursor = joined.length + at.column;
      joined = [...joined, ...cells];
      if (isWrapped) return;
      this.#broken(joined, cursor);
      joined = [];
      cursor = undefined;
    });
    this.#top = Math.max(0, this.#lines.length - rows);
    this.#pendingWrap = false;
  }

  #broken(cells: readonly string[], cursor: number | undefined): void {
    const rows = Math.max(1, Math.ceil(Math.max(cells.length, (cursor ?? 0) + 1) / this.columns));
    for (let index = 0; index < rows; index += 1) {
      const part = cells.slice(index * this.columns, (index + 1) * this.columns);
      const isWrapped = cells.length > (index + 1) * this.columns;
      if (index > 0 && part.length === 0 && cursor === undefined) break;
      this.#lines.push({ cells: part, isWrapped });
    }
    if (cursor === undefined) return;
    const back = rows - 1 - Math.floor(cursor / this.columns);
    this.#at = { line: this.#lines.length - 1 - back, column: cursor % this.columns };
  }

  #plain(text: string): number {
    const [first = ''] = text;
    if (first === '\r') this.#move(this.#at.line, 0);
    else if (first === '\n') this.#lineFeed();
    else if (/\p{Cc}/u.test(first)) throw new Error(`the terminal got ${JSON.stringify(text.slice(0, 20))}`);
    else {
      const [run = ''] = /^\P{Cc}+/u.exec(text) ?? [];
      for (const grapheme of graphemes(run)) this.#put(grapheme);
      return run.length;
    }
    return 1;
  }

  #put(grapheme: string): void {
    const width = displayWidth(grapheme);
    if (this.#pendingWrap || this.#at.column + width > this.columns) {
      if (!this.mayOverflow)
        throw new Error(`the text runs over the last column: ${JSON.stringify(grapheme)}`);
      if (!this.#wraps) return;
      this.#row().isWrapped = true;
      this.#lineFeed();
      this.#move(this.#at.line, 0);
    }
    const { cells } = this.#row();
    while (cells.length < this.#at.column) cells.push(' ');
    // A two-column character leaves its second cell empty; a zero-width one belongs to the previous cell.
    cells.splice(
      this.#at.column,
      width,
      ...(width === 0 ? [] : [grapheme, ...Array<string>(width - 1).fill('')]),
    );
    if (width === 0) cells[this.#at.column - 1] = (cells[this.#at.column - 1] ?? '') + grapheme;
    const column = this.#at.column + width;
    this.#pendingWrap = column >= this.columns;
    this.#at = { line: this.#at.line, column: Math.min(column, this.columns - 1) };
  }

  #lineFeed(): void {
    const line = this.#at.line + 1;
    if (line >= this.#lines.length) this.#lines.push(row());
    this.#top = Math.max(this.#top, line - this.rows + 1);
    this.#move(line, this.#at.column);
  }

  #control(parameters: string, final: string): void {
    const count = Number(parameters || 1);
    if (final === 'm') return;
    if (final === 'h' || final === 'l') return this.#mode(parameters, final);
    if (this.#pendingWrap && !this.mayOverflow && 'ABJK'.includes(final))
      throw new Error(`terminals disagree about ${final} after the last column`);
    if (final === 'A') return this.#move(Math.max(this.#top, this.#at.line - count), this.#at.column);
    if (final === 'B')
      return this.#move(Math.min(this.#lines.length - 1, this.#at.line + count), this.#at.column);
    if (final === 'G') return this.#move(this.#at.line, count - 1);
    if (final === 'H' && parameters === '') return this.#move(this.#top, 0);
    if (final === 'K') return this.#eraseLine();
    if (final === 'J') {
      this.#eraseLine();
      this.#lines.length = this.#at.line + 1;
      return;
    }
    throw new Error(`the terminal does not know ${parameters}${final}`);
  }

  #mode(name: string, final: string): void {
    if (name === '?7') this.#wraps = final === 'h';
    if (final === 'h') this.modes.add(name);
    else this.modes.delete(name);
  }

  #eraseLine(): void {
    // Like xterm: in the last column, erases the character there.
    this.#row().cells.length = Math.min(this.#row().cells.length, this.#at.column);
    this.#row().isWrapped = false;
  }

  #move(line: number, column: number): void {
    this.#at = { line, column };
    this.#pendingWrap = false;
  }

  #row(): Row {
    const found = this.#lines[this.#at.line];
    if (found === undefined) throw new Error('the cursor is outside of the screen');
    return found;
  }
}

const SEQUENCE = /^.\[([0-?]*)([@-~])/s;

/** Rows that were never written look like erased rows. */
export function withoutEmptyEnd(lines: readonly string[]): string[] {
  return lines.slice(0, lines.findLastIndex((line) => line !== '') + 1);
}

function row(): Row {
  return { cells: [], isWrapped: false };
}
