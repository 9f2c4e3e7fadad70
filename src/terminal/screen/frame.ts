import { type Line, type Paint, paintLine, textOf, widthOf } from '../style.ts';
import { chopLine, fitLine } from '../wrap.ts';
import { Cursor } from './cursor.ts';
import { withDrawnCursor } from './drawn-cursor.ts';
import type { Live, CursorPosition } from './live.ts';

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** What stands in the live area of the terminal, as far as we wrote it. */
export interface Shown {
  readonly rows: readonly Row[];
  /** Where the terminal's cursor is, counted from the area's first row. */
  readonly cursor: CursorPosition;
  readonly cursorVisible: boolean;
  /** How many finished rows were written above the live area. */
  readonly above: number;
}

interface Row {
  readonly line: Line;
  readonly bytes: string;
  readonly width: number;
  /** The bytes before they were cut to the width: what has the same is the same row. */
  readonly source: string;
}

export const NOTHING_SHOWN: Shown = {
  rows: [],
  cursor: { row: 0, column: 0 },
  cursorVisible: true,
  above: 0,
};

export interface Frame {
  /** Lines that will not change any more: they scroll up into the terminal's own memory. */
  readonly finished: readonly Line[];
  readonly live: Live;
  /**
   * Whether frames follow each other by themselves, as with a spinner. Such a frame can reach the terminal after its width changed
   * and before we know, so it must not depend on how the terminal wrapped the rows of the one before: see `isAnchored`.
   */
  readonly isMoving: boolean;
}

/**
 * The bytes that bring the terminal from what it shows to the frame. Rows are compared by place: a line that was live and is now
 * finished stays where it is and costs nothing.
 */
export function paintFrame(
  before: Shown,
  { finished, live, isMoving }: Frame,
  size: Size,
  paint: Paint,
): { readonly bytes: string; readonly shown: Shown } {
  const above = finished.flatMap((line) => chopLine(line, size.columns));
  const clippedLive = clipped(live, size);
  // An anchored frame leaves the cursor at the start of its first row. A terminal that wraps its rows anew keeps the cursor at that
  // character, so at any width the live area is what follows the cursor. On a screen that is not full tmux may instead move that row
  // into its history, where no program reaches it. The visible cursor is drawn, which needs an escape sequence.
  const isFull = before.above + above.length + clippedLive.lines.length >= size.rows;
  const isAnchored = isMoving && isFull && (live.cursor === undefined || paint.coloured);
  const visible = isAnchored ? withDrawnCursor(clippedLive) : clippedLive;
  const cursor = new Cursor(before.cursor, Math.max(1, before.rows.length), isAnchored);
  // A wrapped row cannot be stepped over, so finished lines are written from the first row on, over whatever is there.
  const shown = isAnchored && above.length > 0 ? NOTHING_SHOWN : before;
  if (shown !== before) cursor.eraseAll(ERASE_BELOW);

  const rows = [...above, ...visible.lines].map((line, index): Row => {
    const source = paintLine(line, paint);
    const old = shown.rows[index];
    return old?.source === source ? old : newRow(line, source, size, paint);
  });
  const below = rows.slice(above.length);
  const changed = rows.flatMap((row, index) =>
    shown.rows[index]?.bytes === row.bytes ? [] : [{ row, index }],
  );
  for (const { row, index } of changed) {
    // At a width that we do not know, a live row is cut to remain one row, and a finished row is wrapped to lose nothing.
    cursor.setWrap(isAnchored ? index < above.length : !DOUBTFUL.test(row.bytes));
    paintRow(cursor, { row, index, old: shown.rows[index] }, size);
  }
  if (shown.rows.length > rows.length) {
    cursor.goTo({ row: rows.length, column: 0 });
    cursor.send(ERASE_BELOW);
  }
  const rest = restingPlace(visible, isAnchored);
  cursor.goTo({ row: above.length + rest.row, column: rest.column });
  cursor.setWrap(true);
  const cursorVisible = visible.cursor !== undefined;
  if (cursorVisible !== before.cursorVisible) cursor.send(cursorVisible ? SHOW_CURSOR : HIDE_CURSOR);
  return {
    bytes: changed.length > 1 ? `${BEGIN_UPDATE}${cursor.bytes}${END_UPDATE}` : cursor.bytes,
    shown: { rows: below, cursor: rest, cursorVisible, above: before.above + above.length },
  };
}

function restingPlace({ lines, cursor }: Live, isAnchored: boolean): CursorPosition {
  if (isAnchored) return { row: 0, column: 0 };
  return cursor ?? { row: lines.length - 1, column: 0 };
}

function paintRow(
  cursor: Cursor,
  { row, index, old }: { readonly row: Row; readonly index: number; readonly old: Row | undefined },
  { columns }: Size,
): void {
  if (old !== undefined && isContinued(old, row)) {
    cursor.goTo({ row: index, column: old.width });
    cursor.write(row.bytes.slice(old.bytes.length), row.width, columns);
    return;
  }
  cursor.goTo({ row: index, column: 0 });
  // Erased before, not after: behind a full row some terminals would erase its last character, and others would count the
  // erased columns as text when they break lines anew.
  if (old !== undefined && (row.width < old.width || DOUBTFUL.test(old.bytes + row.bytes)))
    cursor.send(ERASE_LINE);
  cursor.write(row.bytes, row.width, columns);
}

/** Whether only more was written at the end, as when text streams in, and every terminal agrees where that end is. */
function isContinued(old: Row, row: Row): boolean {
  return row.bytes.startsWith(old.bytes) && SURE.test(textOf(row.line));
}

function newRow(line: Line, source: string, { columns }: Size, paint: Paint): Row {
  const width = widthOf(line);
  if (width <= columns) return { line, bytes: source, width, source };
  const fitted = fitLine(line, columns);
  return { line: fitted, bytes: paintLine(fitted, paint), width: widthOf(fitted), source };
}

/**
 * Goes to the first row of the live area and erases it, after the terminal got another width: its rows were broken anew where they
 * had become too long, and the cursor moved along.
 */
export function eraseResized(
  shown: Shown,
  { columns, rows }: Size,
): { readonly bytes: string; readonly shown: Shown } {
  const above = shown.rows
    .slice(0, shown.cursor.row)
    .reduce((total, { line }) => total + chopLine(line, columns).length, 0);
  const up = Math.min(rows - 1, above + Math.floor(shown.cursor.column / columns));
  const bytes = `${up > 0 ? `\u001b[${up}A` : ''}\r${ERASE_BELOW}`;
  return { bytes, shown: { ...shown, rows: NOTHING_SHOWN.rows, cursor: NOTHING_SHOWN.cursor } };
}

/** The part of the live area that fits: its end, unless the cursor is above that. There is always at least one row. */
function clipped({ lines, cursor }: Live, { columns, rows }: Size): Live {
  const all = lines.length === 0 ? [[]] : lines;
  const from = Math.max(0, Math.min(all.length - rows, cursor?.row ?? all.length));
  return {
    lines: all.slice(from, from + rows),
    cursor: cursor && { row: cursor.row - from, column: Math.min(cursor.column, columns - 1) },
  };
}

/** Characters whose width not every terminal agrees about: a row with them must neither wrap nor leave something behind. */
const DOUBTFUL = /\u200D|[\p{Extended_Pictographic}\p{RI}\p{M}]/u;

/** Characters that are one column wide everywhere, or two. */
const SURE = /^[ -~\u3041-\u3096\u30A1-\u30FF\u4E00-\u9FFF\uAC00-\uD7A3、。]*$/;

const ERASE_LINE = '\u001b[K';
const ERASE_BELOW = '\u001b[J';
const SHOW_CURSOR = '\u001b[?25h';
const HIDE_CURSOR = '\u001b[?25l';
/** Terminals that know it show the rows between at once; others ignore it. */
const BEGIN_UPDATE = '\u001b[?2026h';
const END_UPDATE = '\u001b[?2026l';
