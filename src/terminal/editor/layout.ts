import { displayWidth, fitWidth } from '../width.ts';
import { splitGraphemes } from '../graphemes.ts';
import { sanitizeLine } from '../sanitize.ts';
import type { CursorPosition } from '../screen/live.ts';
import { type EditorState, findFolded } from './state.ts';

interface Cell {
  readonly offset: number;
  readonly shown: string;
  readonly column: number;
  readonly isFolded: boolean;
}

/** One visible row of the input. */
export interface LayoutRow {
  readonly cells: readonly Cell[];
  /** The offsets of its first character and after its last one. */
  readonly start: number;
  readonly end: number;
  /** Its width in columns. */
  readonly columns: number;
}

/** Returns the rows of the input at a width; a full last row is followed by an empty one for the cursor. */
export function layoutRows(
  { text, folded }: Pick<EditorState, 'text' | 'folded'>,
  width: number,
): LayoutRow[] {
  const rows: LayoutRow[] = [];
  let start = 0;
  for (const source of text.split('\n')) {
    let cells: Cell[] = [];
    let column = 0;
    let offset = start;
    const endRow = () => {
      rows.push({ cells, start, end: offset, columns: column });
      cells = [];
      column = 0;
      start = offset;
    };
    for (const grapheme of splitGraphemes(source)) {
      const label = findFolded(grapheme, folded)?.label;
      const shown = fitWidth(label ?? sanitizeLine(grapheme), width);
      const columns = displayWidth(shown);
      if (column + columns > width) endRow();
      cells.push({ offset, shown, column, isFolded: label !== undefined });
      column += columns;
      offset += grapheme.length;
    }
    endRow();
    if ((rows.at(-1)?.columns ?? 0) >= width) endRow();
    start = offset + 1;
  }
  return rows;
}

/** Returns the position of an offset; at a soft break it is on the lower row, where the next character goes. */
export function cursorPosition(rows: readonly LayoutRow[], offset: number): CursorPosition {
  const row = Math.max(
    0,
    rows.findLastIndex(({ start }) => start <= offset),
  );
  const target = rows[row];
  if (target === undefined) return { row: 0, column: 0 };
  return { row, column: target.cells.find((cell) => cell.offset >= offset)?.column ?? target.columns };
}

/** Returns the offset closest to a position. */
export function offsetAt(rows: readonly LayoutRow[], { row, column }: CursorPosition): number {
  const target = rows[row];
  if (target === undefined) return 0;
  const cell = target.cells.findLast((each) => each.column <= column);
  if (column >= target.columns) {
    // The end of a wrapped row equals the start of the next one, so stay on the last character.
    return rows[row + 1]?.start === target.end ? (target.cells.at(-1)?.offset ?? target.end) : target.end;
  }
  return cell?.offset ?? target.start;
}
