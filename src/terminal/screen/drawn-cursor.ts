import { displayWidth } from '../width.ts';
import { splitGraphemes } from '../graphemes.ts';
import { type Line, span, lineText, lineWidth } from '../style.ts';
import { sliceLine } from '../wrap.ts';
import type { LiveArea } from './live.ts';

/**
 * Returns the live area with its cursor drawn as a reversed character, so that the terminal's own cursor can be
 * elsewhere.
 */
export function withDrawnCursor({ lines, cursor }: LiveArea): LiveArea {
  if (cursor === undefined) return { lines, cursor };
  return {
    lines: lines.map((line, row) => (row === cursor.row ? reverseCharacter(line, cursor.column) : line)),
    cursor: undefined,
  };
}

function reverseCharacter(line: Line, column: number): Line {
  const gap = column - lineWidth(line);
  if (gap >= 0) return [...line, span(' '.repeat(gap)), span(' ', { inverse: true })];
  let start = 0;
  let used = 0;
  for (const grapheme of splitGraphemes(lineText(line))) {
    const end = start + grapheme.length;
    used += displayWidth(grapheme);
    if (used > column) {
      const character = sliceLine(line, { start, end });
      return [
        ...sliceLine(line, { start: 0, end: start }),
        ...character.map(({ text, look }) => ({ text, look: { ...look, inverse: true as const } })),
        ...sliceLine(line, { start: end, end: Number.POSITIVE_INFINITY }),
      ];
    }
    start = end;
  }
  return line;
}
