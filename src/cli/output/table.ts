import { sanitizeLine, displayWidth, fitWidth } from '../../terminal/index.ts';

export interface TableStyle {
  /** The right-aligned columns, such as numbers. */
  readonly right?: ReadonlySet<number>;
  /** The width of the terminal; without it nothing is truncated. */
  readonly columns?: number | undefined;
}

/** Renders rows as aligned columns. Names, prompts and owners are untrusted text: control characters are removed. */
export function table(cells: readonly (readonly string[])[], { right, columns }: TableStyle = {}): string {
  const lines = cells.map((line) => line.map(sanitizeLine));
  const [headings = []] = lines;
  // The last column takes the rest of the line, so its long texts are not measured.
  const widths = headings
    .slice(0, -1)
    .map((_, column) => Math.max(...lines.map((line) => displayWidth(line[column] ?? ''))));
  const laidOut = (line: readonly string[]): string => {
    const text = line.map((cell, at) => padded(cell, widths[at] ?? 0, right?.has(at) === true)).join('  ');
    return columns === undefined ? text.trimEnd() : fitWidth(text.trimEnd(), columns);
  };
  return lines.map((line) => `${laidOut(line)}\n`).join('');
}

function padded(text: string, width: number, isRight: boolean): string {
  if (width === 0) return text;
  const blanks = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return isRight ? blanks + text : text + blanks;
}
