import type { Line } from '../style.ts';
import { blockLines, type MarkdownStyle, sourceLine } from './render.ts';
import { finish, type ParserState, INITIAL_STATE, step } from './step.ts';

/** A longer line is split: an endless one would be laid out again with every delta. */
const MAX_LINE = 8192;

/**
 * Markdown that is still being written. `push` returns finished lines once; the rest, at most one block, is
 * laid out on demand.
 */
export class MarkdownStream {
  #style: MarkdownStyle;
  #reading: ParserState = INITIAL_STATE;
  #partial = '';

  constructor(style: MarkdownStyle) {
    this.#style = style;
  }

  /** Adds text; returns the lines that are now finished. */
  push(text: string): Line[] {
    const lines: Line[] = [];
    let rest = this.#partial + text;
    for (let end = lineEnd(rest); end !== undefined; end = lineEnd(rest)) {
      lines.push(...this.#parseLine(rest.slice(0, end)));
      rest = rest.slice(rest[end] === '\n' ? end + 1 : end);
    }
    this.#partial = rest;
    return lines;
  }

  /** Returns the unfinished lines, as if the text ended here. */
  open(): Line[] {
    const [reading, blocks] = this.#withPartial();
    return [...blocks, ...finish(reading)[1]].flatMap((block) => blockLines(block, this.#style));
  }

  /** Changes the width of the following lines. */
  resize(width: number): void {
    this.#style = { ...this.#style, width };
  }

  /** Ends the text; returns the lines that were still open. */
  end(): Line[] {
    const lines = this.open();
    this.#reading = INITIAL_STATE;
    this.#partial = '';
    return lines;
  }

  #parseLine(source: string): Line[] {
    const [reading, blocks] = step(this.#reading, sourceLine(source));
    this.#reading = reading;
    return blocks.flatMap((block) => blockLines(block, this.#style));
  }

  #withPartial(): ReturnType<typeof step> {
    if (this.#partial === '') return [this.#reading, []];
    return step(this.#reading, sourceLine(this.#partial));
  }
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
