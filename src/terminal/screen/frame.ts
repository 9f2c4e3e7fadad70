import { type Line, type Paint, paintLine, lineText, lineWidth } from '../style.ts';
import { chopLine, fitLine } from '../wrap.ts';
import { Cursor } from './cursor.ts';
import { withDrawnCursor } from './drawn-cursor.ts';
import type { LiveArea, CursorPosition } from './live.ts';

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** The live area of the terminal as last written. */
export interface ScreenState {
  readonly rows: readonly Row[];
  /** The position of the terminal's cursor, relative to the first row of the area. */
  readonly cursor: CursorPosition;
  readonly cursorVisible: boolean;
  /** How many finished rows were written above the live area. */
  readonly above: number;
}

interface Row {
  readonly line: Line;
  readonly bytes: string;
  readonly width: number;
  /** The bytes before truncation to the width, which identify the row. */
  readonly source: string;
}

export const EMPTY_SCREEN: ScreenState = {
  rows: [],
  cursor: { row: 0, column: 0 },
  cursorVisible: true,
  above: 0,
};

export interface Frame {
  /** Lines that do not change any more: they scroll into the terminal's scrollback. */
  readonly finished: readonly Line[];
  readonly live: LiveArea;
  /**
   * Whether frames follow automatically, as with a spinner. Such a frame can reach the terminal after its width
   * changed and before the program knows, so it must not depend on how the terminal wrapped the previous rows:
   * see `isAnchored`.
   */
  readonly isMoving: boolean;
}

/**
 * Returns the bytes that update the terminal to the frame. Rows are compared by position: a line that was live
 * and is now finished stays in place and costs nothing.
 */
export function paintFrame(
  before: ScreenState,
  { finished, live, isMoving }: Frame,
  size: Size,
  paint: Paint,
): { readonly bytes: string; readonly shown: ScreenState } {
  const above = finished.flatMap((line) => chopLine(line, size.columns));
  const clippedLive = clipLive(live, size);
  // An anchored frame leaves the cursor at the start of its first row. A terminal that rewraps its rows keeps
  // the cursor at that character, so at any width the live area starts at the cursor. On a screen that is not
  // full, tmux may instead move that row into its history, where no program can reach it. The visible cursor is
  // drawn, which needs an escape sequence.
  const isFull = before.above + above.length + clippedLive.lines.length >= size.rows;
  const isAnchored = isMoving && isFull && (live.cursor === undefined || paint.styled);
  const visible = isAnchored ? withDrawnCursor(clippedLive) : clippedLive;
  const cursor = new Cursor(before.cursor, Math.max(1, before.rows.length), isAnchored);
  // A wrapped row cannot be skipped, so finished lines are written from the first row on, over the old content.
  const shown = isAnchored && above.length > 0 ? EMPTY_SCREEN : before;
  if (shown !== before) cursor.eraseAll(ERASE_BELOW);

  const rows = [...above, ...visible.lines].map((line, index): Row => {
    const source = paintLine(line, paint);
    const old = shown.rows[index];
    return old?.source === source ? old : createRow(line, source, size, paint);
  });
  const below = rows.slice(above.length);
  const changed = rows.flatMap((row, index) =>
    shown.rows[index]?.bytes === row.bytes ? [] : [{ row, index }],
  );
  for (const { row, index } of changed) {
    // While the width is uncertain, a live row is cut to stay one row, and a finished row wraps to lose
    // nothing.
    cursor.setWrap(isAnchored ? index < above.length : !UNCERTAIN_WIDTH.test(row.bytes));
    paintRow(cursor, { row, index, old: shown.rows[index] }, size);
  }
  if (shown.rows.length > rows.length) {
    cursor.goTo({ row: rows.length, column: 0 });
    cursor.send(ERASE_BELOW);
  }
  const rest = restPosition(visible, isAnchored);
  cursor.goTo({ row: above.length + rest.row, column: rest.column });
  cursor.setWrap(true);
  const cursorVisible = visible.cursor !== undefined;
  if (cursorVisible !== before.cursorVisible) cursor.send(cursorVisible ? SHOW_CURSOR : HIDE_CURSOR);
  return {
    bytes: changed.length > 1 ? `${BEGIN_UPDATE}${cursor.bytes}${END_UPDATE}` : cursor.bytes,
    shown: { rows: below, cursor: rest, cursorVisible, above: before.above + above.length },
  };
}

function restPosition({ lines, cursor }: LiveArea, isAnchored: boolean): CursorPosition {
  if (isAnchored) return { row: 0, column: 0 };
  return cursor ?? { row: lines.length - 1, column: 0 };
}

function paintRow(
  cursor: Cursor,
  { row, index, old }: { readonly row: Row; readonly index: number; readonly old: Row | undefined },
  { columns }: Size,
): void {
  if (old !== undefined && isAppended(old, row)) {
    cursor.goTo({ row: index, column: old.width });
    cursor.write(row.bytes.slice(old.bytes.length), row.width, columns);
    return;
  }
  cursor.goTo({ row: index, column: 0 });
  // Erase before writing: after a full row, some terminals would erase its last character, and others would
  // count the erased columns as text when they rewrap lines.
  if (old !== undefined && (row.width < old.width || UNCERTAIN_WIDTH.test(old.bytes + row.bytes)))
    cursor.send(ERASE_LINE);
  cursor.write(row.bytes, row.width, columns);
}

/** Returns whether text was only appended, as in streaming, and all terminals agree about the end position. */
function isAppended(old: Row, row: Row): boolean {
  return row.bytes.startsWith(old.bytes) && CERTAIN_WIDTH.test(lineText(row.line));
}

function createRow(line: Line, source: string, { columns }: Size, paint: Paint): Row {
  const width = lineWidth(line);
  if (width <= columns) return { line, bytes: source, width, source };
  const fitted = fitLine(line, columns);
  return { line: fitted, bytes: paintLine(fitted, paint), width: lineWidth(fitted), source };
}

/**
 * Moves to the first row of the live area and erases it after a width change: the terminal has rewrapped the
 * rows and moved the cursor with them.
 */
export function eraseResized(
  shown: ScreenState,
  { columns, rows }: Size,
): { readonly bytes: string; readonly shown: ScreenState } {
  const above = shown.rows
    .slice(0, shown.cursor.row)
    .reduce((total, { line }) => total + chopLine(line, columns).length, 0);
  const up = Math.min(rows - 1, above + Math.floor(shown.cursor.column / columns));
  const bytes = `${up > 0 ? `\u001b[${up}A` : ''}\r${ERASE_BELOW}`;
  return { bytes, shown: { ...shown, rows: EMPTY_SCREEN.rows, cursor: EMPTY_SCREEN.cursor } };
}

/**
 * Returns the part of the live area that fits: its end, unless the cursor is above that. There is always at
 * least one row.
 */
function clipLive({ lines, cursor }: LiveArea, { columns, rows }: Size): LiveArea {
  const all = lines.length === 0 ? [[]] : lines;
  const from = Math.max(0, Math.min(all.length - rows, cursor?.row ?? all.length));
  return {
    lines: all.slice(from, from + rows),
    cursor: cursor && { row: cursor.row - from, column: Math.min(cursor.column, columns - 1) },
  };
}

/**
 * Characters whose width differs between terminals: a row with them must neither wrap nor leave anything
 * behind.
 */
const UNCERTAIN_WIDTH = /\u200D|[\p{Extended_Pictographic}\p{RI}\p{M}]/u;

/** Characters that are one column wide everywhere, or two. */
const CERTAIN_WIDTH = /^[ -~\u3041-\u3096\u30A1-\u30FF\u4E00-\u9FFF\uAC00-\uD7A3、。]*$/;

const ERASE_LINE = '\u001b[K';
const ERASE_BELOW = '\u001b[J';
const SHOW_CURSOR = '\u001b[?25h';
const HIDE_CURSOR = '\u001b[?25l';
/** Terminals that support it show the rows in between at once; others ignore it. */
const BEGIN_UPDATE = '\u001b[?2026h';
const END_UPDATE = '\u001b[?2026l';
