import { sanitizeLine } from './sanitize.ts';
import { COLOURED, MONOCHROME, type Paint } from './style.ts';

/**
 * Adds colours to text, or returns it unchanged. The caller decides, based on `NO_COLOR` and whether output is
 * a terminal.
 */
export interface TextColors {
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly cyan: (text: string) => string;
  readonly bold: (text: string) => string;
}

export function brush(useColour: boolean): TextColors {
  const paint = (code: number) => (text: string) => (useColour ? `\u001b[${code}m${text}\u001b[0m` : text);
  return { dim: paint(2), red: paint(31), green: paint(32), cyan: paint(36), bold: paint(1) };
}

export function wantsColour(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  if (env.NO_COLOR) return false;
  return stream.isTTY === true || (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== '0');
}

/** The styles for a terminal: all, or without colours if the user set `NO_COLOR`. */
export function paintFor(env: Readonly<Record<string, string | undefined>>): Paint {
  return env.NO_COLOR ? MONOCHROME : COLOURED;
}

/** Colours a unified diff and limits its length. */
export function colourDiff(diff: string, paint: TextColors, maxLines: number): string {
  const lines = diff.trimEnd().split('\n').map(sanitizeLine);
  const visible = lines.slice(0, maxLines).map((line) => {
    if (line.startsWith('+') && !line.startsWith('+++')) return paint.green(line);
    if (line.startsWith('-') && !line.startsWith('---')) return paint.red(line);
    return paint.dim(line);
  });
  const rest = lines.length - visible.length;
  return [...visible, ...(rest > 0 ? [paint.dim(`… ${rest} more lines`)] : [])].join('\n');
}
