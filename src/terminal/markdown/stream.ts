import type { Line } from '../style.ts';
import { blockLines, type MarkdownStyle, sourceLine } from './render.ts';
import { finish, type Reading, START, step } from './step.ts';

/** A line longer than this is taken as two: an endless one would be laid out anew with every delta. */
const LONGEST_LINE = 8192;

/**
 * Markdown that is still being written. What can no longer change is handed out once, by `push`; the rest, at most one block,
 * is laid out when somebody looks at it.
 */
export class MarkdownStream {
  #style: MarkdownStyle;
  #reading: Reading = START;
  #partial = '';

  constructor(style: MarkdownStyle) {
    this.#style = style;
  }

  /** Takes the next piece of the text: the lines that are now finished. */
  push(text: string): Line[] {
    const lines: Line[] = [];
    let rest = this.#partial + text;
    for (let end = lineEnd(rest); end !== undefined; end = lineEnd(rest)) {
      lines.push(...this.#take(rest.slice(0, end)));
      rest = rest.slice(rest[end] === '\n' ? end + 1 : end);
    }
    this.#partial = rest;
    return lines;
  }

  /** What is not finished yet, as it would look if the text ended here. */
  open(): Line[] {
    const [reading, blocks] = this.#withPartial();
    return [...blocks, ...finish(reading)[1]].flatMap((block) => blockLines(block, this.#style));
  }

  /** From now on lines have another width. */
  resize(width: number): void {
    this.#style = { ...this.#style, width };
  }

  /** The text is over: the lines that were still open. */
  end(): Line[] {
    const lines = this.open();
    this.#reading = START;
    this.#partial = '';
    return lines;
  }

  #take(source: string): Line[] {
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
  if (newline !== -1 && newline <= LONGEST_LINE) return newline;
  if (text.length <= LONGEST_LINE) return undefined;
  const space = text.lastIndexOf(' ', LONGEST_LINE);
  return space > 0 ? space : wholeCharacter(text);
}

/** A place between two characters that never combine, if there is one near. */
function wholeCharacter(text: string): number {
  for (let end = LONGEST_LINE; end > LONGEST_LINE - 64; end -= 1)
    if (SEPARATE.test(text.slice(end - 1, end + 1))) return end;
  return LONGEST_LINE;
}

const SEPARATE = /^[\x21-\x7e\u3041-\u3096\u30A1-\u30FA\u4E00-\u9FFF]{2}$/;
