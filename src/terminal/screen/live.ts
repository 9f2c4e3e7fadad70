import type { Line } from '../style.ts';

export interface CursorPosition {
  readonly row: number;
  readonly column: number;
}

/** The area below the finished text, which may still change. */
export interface LiveArea {
  readonly lines: readonly Line[];
  /** The input cursor; without it the cursor is hidden. */
  readonly cursor: CursorPosition | undefined;
}

/** Stacks parts of the live area; the last cursor is the visible one. */
export function stackLive(parts: readonly LiveArea[]): LiveArea {
  let above = 0;
  let cursor: CursorPosition | undefined;
  for (const part of parts) {
    if (part.cursor !== undefined) cursor = { row: above + part.cursor.row, column: part.cursor.column };
    above += part.lines.length;
  }
  return { lines: parts.flatMap(({ lines }) => lines), cursor };
}

/** Returns lines without a cursor as a part of the live area. */
export function staticLive(lines: readonly Line[]): LiveArea {
  return { lines, cursor: undefined };
}
