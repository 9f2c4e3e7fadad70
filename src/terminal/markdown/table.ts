import type { Tokens } from 'marked';
import { BOLD, DIM, type Line, type Span, span, lineWidth } from '../style.ts';
import { wrapLine } from '../wrap.ts';
import { type InlineStyle, inlineLines } from './inline.ts';

type Align = Tokens.Table['align'][number];
type Cell = readonly Line[];

/** The widths of the columns before they are narrowed, for the following rows of a long table. */
export type ColumnWidths = readonly number[];

const SEPARATOR = ' │ ';
/** A narrower column is unreadable. */
const MIN_COLUMN = 6;

/**
 * Renders a table with aligned columns, narrowed to the width; if it cannot fit, each row becomes a list. With
 * the widths of the rows before, renders only the rows.
 */
export function tableLines(
  table: Tokens.Table,
  width: number,
  style: InlineStyle,
  before?: ColumnWidths,
): { readonly lines: Line[]; readonly widths: ColumnWidths } {
  const header = table.header.map(({ text }) => inlineLines(text, BOLD, style));
  const rows = table.rows.map((row) => row.map(({ text }) => inlineLines(text, {}, style)));
  const natural = header.map((_, index) =>
    Math.max(before?.[index] ?? 1, naturalWidth([header, ...rows], index)),
  );
  const room = width - SEPARATOR.length * (header.length - 1);
  if (room < Math.min(MIN_COLUMN * header.length, sum(natural))) {
    const lines = tableAsList(header, rows, width);
    return { lines: before === undefined || lines.length === 0 ? lines : [[], ...lines], widths: natural };
  }
  const widths = shrinkColumns(natural, room);
  const ruled = span(widths.map((columns) => '─'.repeat(columns)).join('─┼─'), DIM);
  const heading = before === undefined ? [...rowLines(header, widths, table.align), [ruled]] : [];
  return {
    lines: [...heading, ...rows.flatMap((row) => rowLines(row, widths, table.align))],
    widths: natural,
  };
}

function naturalWidth(rows: readonly (readonly Cell[])[], index: number): number {
  return Math.max(1, ...rows.flatMap((row) => (row[index] ?? []).map(lineWidth)));
}

/** Shrinks the widest columns first, so that narrow ones keep their width. */
function shrinkColumns(natural: readonly number[], room: number): number[] {
  const widths = [...natural];
  for (let excess = sum(widths) - room; excess > 0; ) {
    const widest = Math.max(...widths);
    const next = Math.max(1, ...widths.filter((columns) => columns < widest));
    const among = widths.flatMap((columns, index) => (columns === widest ? [index] : []));
    const each = Math.max(1, Math.min(widest - next, Math.floor(excess / among.length)));
    for (const index of among) {
      if (excess <= 0) break;
      widths[index] = widest - each;
      excess -= each;
    }
  }
  return widths;
}

function rowLines(cells: readonly Cell[], widths: readonly number[], aligns: readonly Align[]): Line[] {
  const wrapped = cells.map((cell, index) => cell.flatMap((line) => wrapLine(line, widths[index] ?? 1)));
  const height = Math.max(1, ...wrapped.map((lines) => lines.length));
  return Array.from({ length: height }, (_, row) =>
    wrapped.flatMap((lines, index): Line => {
      const isLast = index === wrapped.length - 1;
      const padded = alignCell(lines[row] ?? [], widths[index] ?? 1, aligns[index] ?? 'left', isLast);
      return isLast ? padded : [...padded, span(SEPARATOR, DIM)];
    }),
  );
}

function alignCell(line: Line, width: number, align: Align, isLast: boolean): Span[] {
  const space = Math.max(0, width - lineWidth(line));
  const before = { left: 0, center: Math.floor(space / 2), right: space }[align ?? 'left'];
  const after = isLast ? 0 : space - before;
  return [
    ...(before > 0 ? [span(' '.repeat(before))] : []),
    ...line,
    ...(after > 0 ? [span(' '.repeat(after))] : []),
  ];
}

function tableAsList(header: readonly Cell[], rows: readonly (readonly Cell[])[], width: number): Line[] {
  return rows.flatMap((row, index) => [
    ...(index > 0 ? [[]] : []),
    ...row.flatMap((cell, column) => {
      const name = header[column]?.[0] ?? [];
      return wrapLine([...name, span(': ', BOLD), ...cell.flat()], width);
    }),
  ]);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
