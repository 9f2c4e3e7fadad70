import { displayWidth } from '../width.ts';
import { graphemesOf } from '../graphemes.ts';
import { type Line, span, textOf, widthOf } from '../style.ts';
import { sliceLine } from '../wrap.ts';
import type { Live } from './live.ts';

/** The live area with its cursor drawn as a reversed character, so that the terminal's own cursor can rest elsewhere. */
export function withDrawnCursor({ lines, cursor }: Live): Live {
  if (cursor === undefined) return { lines, cursor };
  return {
    lines: lines.map((line, row) => (row === cursor.row ? reversedAt(line, cursor.column) : line)),
    cursor: undefined,
  };
}

function reversedAt(line: Line, column: number): Line {
  const gap = column - widthOf(line);
  if (gap >= 0) return [...line, span(' '.repeat(gap)), span(' ', { inverse: true })];
  let start = 0;
  let used = 0;
  for (const grapheme of graphemesOf(textOf(line))) {
    const end = start + grapheme.length;
    used += displayWidth(grapheme);
    if (used > column) {
      const under = sliceLine(line, { start, end });
      return [
        ...sliceLine(line, { start: 0, end: start }),
        ...under.map(({ text, look }) => ({ text, look: { ...look, inverse: true as const } })),
        ...sliceLine(line, { start: end, end: Number.POSITIVE_INFINITY }),
      ];
    }
    start = end;
  }
  return line;
}
