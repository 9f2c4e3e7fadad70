import type { Line } from '../style.ts';
import { sanitizeLine } from '../sanitize.ts';
import { finish, INITIAL_STATE, readLine } from './reader.ts';
import type { MarkdownStyle } from './render.ts';

/** Renders a complete markdown text as lines. */
export function markdownLines(text: string, style: MarkdownStyle): Line[] {
  const stream = new MarkdownStream(style);
  return [...stream.push(text), ...stream.end()];
}

/** A longer line is split: an endless one would be laid out again with every delta. */
const MAX_LINE = 8192;

/**
 * Markdown that is still being written. `push` returns finished lines once; the rest, at most one block, is
 * laid out on demand.
 */
export class MarkdownStream {
  #style: MarkdownStyle;
  #state = INITIAL_STATE;
  #partial = '';

  constructor(style: MarkdownStyle) {
    this.#style = style;
  }

  /** Adds text; returns the lines that are now finished. */
  push(text: string): Line[] {
    const lines: Line[] = [];
    let rest = this.#partial + text;
    for (let end = lineEnd(rest); end !== undefined; end = lineEnd(rest)) {
      lines.push(...this.#readLine(rest.slice(0, end)));
      rest = rest.slice(rest[end] === '\n' ? end + 1 : end);
    }
    this.#partial = rest;
    return lines;
  }

  /** Returns the unfinished lines, as if the text ended here. */
  open(): Line[] {
    return finish(this.#state, this.#style, this.#partial === '' ? undefined : sourceLine(this.#partial));
  }

  /** Changes the width of the following lines. */
  resize(width: number): void {
    this.#style = { ...this.#style, width };
  }

  /** Ends the text; returns the lines that were still open. */
  end(): Line[] {
    const lines = [...(this.#partial === '' ? [] : this.push('\n')), ...this.open()];
    this.#state = INITIAL_STATE;
    this.#partial = '';
    return lines;
  }

  #readLine(source: string): readonly Line[] {
    const [state, lines] = readLine(this.#state, sourceLine(source), this.#style);
    this.#state = state;
    return lines;
  }
}

function sourceLine(source: string): string {
  return sanitizeLine(source.replace(/\r$/, ''));
}

function lineEnd(text: string): number | undefined {
  const newline = text.indexOf('\n');
  if (newline !== -1 && newline <= MAX_LINE) return newline;
  if (text.length <= MAX_LINE) return undefined;
  const space = text.lastIndexOf(' ', MAX_LINE);
  return space > 0 ? space : splitPosition(text);
}

/** Returns a position between two characters that never combine, if there is one nearby. */
function splitPosition(text: string): number {
  for (let end = MAX_LINE; end > MAX_LINE - 64; end -= 1)
    if (SEPARATE.test(text.slice(end - 1, end + 1))) return end;
  return MAX_LINE;
}

const SEPARATE = /^[\x21-\x7e\u3041-\u3096\u30A1-\u30FA\u4E00-\u9FFF]{2}$/;
