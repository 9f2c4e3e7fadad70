import { type Line, paintLine, UNSTYLED } from '../style.ts';
import type { Size } from './frame.ts';
import type { ScreenOutput, OutputTarget } from './screen.ts';

/** Returns whether output must be plain lines: for a pipe or a simple terminal. */
export function wantsPlain(
  {
    stdin,
    stdout,
  }: { readonly stdin: { readonly isTTY?: boolean }; readonly stdout: { readonly isTTY?: boolean } },
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  if (stdin.isTTY !== true || stdout.isTTY !== true) return true;
  return env.TERM === 'dumb';
}

/** Prints finished lines as plain text without a live area, for pipes and simple terminals. */
export class PlainOutput implements OutputTarget {
  readonly #output: Pick<ScreenOutput, 'write' | 'columns' | 'rows'>;

  constructor(output: Pick<ScreenOutput, 'write' | 'columns' | 'rows'>) {
    this.#output = output;
  }

  get size(): Size {
    return { columns: this.#output.columns ?? 80, rows: this.#output.rows ?? 24 };
  }

  print(lines: readonly Line[]): void {
    if (lines.length > 0) this.#output.write(lines.map(plainText).join(''));
  }

  refresh(): void {}

  close(): void {}
}

function plainText(line: Line): string {
  return `${paintLine(line, UNSTYLED).trimEnd()}\n`;
}
