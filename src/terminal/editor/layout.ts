import { displayWidth, fitWidth } from '../width.ts';
import { graphemesOf } from '../graphemes.ts';
import { sanitizeLine } from '../sanitize.ts';
import type { CursorPosition } from '../screen/live.ts';
import { type EditorState, foldedAt } from './state.ts';

interface Cell {
  readonly offset: number;
  readonly shown: string;
  readonly column: number;
  readonly isFolded: boolean;
}

/** One row of the input as it is shown. */
export interface Row {
  readonly cells: readonly Cell[];
  /** The offset of its first character and the one after its last. */
  readonly start: number;
  readonly end: number;
  /** How many columns it takes. */
  readonly columns: number;
}

/** The rows of the input at a width; where a full row ends the text, an empty one follows for the cursor. */
export function rowsOf({ text, folded }: Pick<EditorState, 'text' | 'folded'>, width: number): Row[] {
  const rows: Row[] = [];
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
    for (const grapheme of graphemesOf(source)) {
      const label = foldedAt(grapheme, folded)?.label;
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

/** Where an offset is shown: at a soft break on the lower row, where the next character goes. */
export function placeOf(rows: readonly Row[], offset: number): CursorPosition {
  const row = Math.max(
    0,
    rows.findLastIndex(({ start }) => start <= offset),
  );
  const at = rows[row];
  if (at === undefined) return { row: 0, column: 0 };
  return { row, column: at.cells.find((cell) => cell.offset >= offset)?.column ?? at.columns };
}

/** The offset that is shown nearest to a place. */
export function offsetAt(rows: readonly Row[], { row, column }: CursorPosition): number {
  const at = rows[row];
  if (at === undefined) return 0;
  const cell = at.cells.findLast((each) => each.column <= column);
  if (column >= at.columns) {
    // The end of a row that goes on below is the start of the one below: stay on the last character instead.
    return rows[row + 1]?.start === at.end ? (at.cells.at(-1)?.offset ?? at.end) : at.end;
  }
  return cell?.offset ?? at.start;
}
