import type { Line } from '../style.ts';

export interface CursorPosition {
  readonly row: number;
  readonly column: number;
}

/** What stands below the finished text and may still change. */
export interface Live {
  readonly lines: readonly Line[];
  /** Where the person writes; without it the cursor is hidden. */
  readonly cursor: CursorPosition | undefined;
}

/** Parts of the live area, one below the other; the last cursor is the one that is seen. */
export function stacked(parts: readonly Live[]): Live {
  let above = 0;
  let cursor: CursorPosition | undefined;
  for (const part of parts) {
    if (part.cursor !== undefined) cursor = { row: above + part.cursor.row, column: part.cursor.column };
    above += part.lines.length;
  }
  return { lines: parts.flatMap(({ lines }) => lines), cursor };
}

/** Lines without a cursor, as a part of the live area. */
export function still(lines: readonly Line[]): Live {
  return { lines, cursor: undefined };
}
