import { fillParts } from '../../terminal/index.ts';

/**
 * Lines under the one that they belong to. On a terminal a long one is broken here and not there, where its rest would begin
 * at the edge: what a call says must not pass for a line of ours.
 */
export function indentedLines(lines: readonly string[], columns: number | undefined): readonly string[] {
  return lines.flatMap((line) => broken(line, columns)).map((line) => `${INDENT}${line}`);
}

const INDENT = '  ';

function broken(line: string, columns: number | undefined): readonly string[] {
  const width = columns === undefined ? Number.POSITIVE_INFINITY : Math.max(1, columns - INDENT.length);
  if (line === '' || width === Number.POSITIVE_INFINITY) return [line];
  return fillParts(line, width).map(({ start, end }) => line.slice(start, end));
}
