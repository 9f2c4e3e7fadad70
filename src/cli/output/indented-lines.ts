import { fillParts } from '../../terminal/index.ts';

/**
 * Indents lines below the line that they belong to. Long lines are wrapped here: a line that the terminal wraps would continue at
 * the left edge, where untrusted text could imitate our output.
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
