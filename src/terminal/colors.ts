import { sanitizeLine } from './sanitize.ts';

/** Colours for a terminal, or none: `NO_COLOR` and pipes are respected by whoever makes the brush. */
export interface Brush {
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly cyan: (text: string) => string;
  readonly bold: (text: string) => string;
}

export function brush(coloured: boolean): Brush {
  const paint = (code: number) => (text: string) => (coloured ? `\u001b[${code}m${text}\u001b[0m` : text);
  return { dim: paint(2), red: paint(31), green: paint(32), cyan: paint(36), bold: paint(1) };
}

export function wantsColour(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  if (env.NO_COLOR) return false;
  return stream.isTTY === true || (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '0');
}

/** A unified diff with its additions and removals in colour, its length bounded. */
export function paintedDiff(diff: string, paint: Brush, maxLines: number): string {
  const lines = diff.trimEnd().split('\n').map(sanitizeLine);
  const shown = lines.slice(0, maxLines).map((line) => {
    if (line.startsWith('+') && !line.startsWith('+++')) return paint.green(line);
    if (line.startsWith('-') && !line.startsWith('---')) return paint.red(line);
    return paint.dim(line);
  });
  const rest = lines.length - shown.length;
  return [...shown, ...(rest > 0 ? [paint.dim(`… ${rest} more lines`)] : [])].join('\n');
}
