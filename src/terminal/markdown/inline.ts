import type { MarkedToken, Token } from 'marked';
import { CYAN, DIM, type Line, type Style, type Span, span } from '../style.ts';
import { IDEOGRAPHIC } from '../wrap.ts';
import { lexInline, ownTokens } from './lexer.ts';

export interface InlineStyle {
  /** Keeps the markup (`**`, backticks) in the text, for output without colours. */
  readonly marks: boolean;
}

/** Returns the lines of a paragraph, one per hard break, with emphasis, code and links as styles. */
export function inlineLines(text: string, base: Style, { marks }: InlineStyle): Line[] {
  const lines = new InlineLines(marks);
  lines.write(lexInline(joinLines(text)), base);
  return lines.lines;
}

const LINK: Style = { underline: true };

class InlineLines {
  readonly lines: Span[][] = [[]];
  readonly #marks: boolean;

  constructor(marks: boolean) {
    this.#marks = marks;
  }

  write(tokens: readonly Token[], look: Style): void {
    for (const token of ownTokens(tokens)) this.#writeToken(token, look);
  }

  #writeToken(token: MarkedToken, look: Style): void {
    switch (token.type) {
      case 'text':
        return this.#add(decodeEntities(token.text), look);
      case 'escape':
        return this.#add(token.text, look);
      case 'codespan':
        return this.#add(this.#marks ? token.raw : token.text, { ...look, ...CYAN });
      case 'strong':
        return this.#emphasize(token, { ...look, bold: true });
      case 'em':
        return this.#emphasize(token, { ...look, italic: true });
      case 'del':
        return this.#emphasize(token, { ...look, strike: true });
      case 'link': {
        const { raw, text, href, tokens, autolink } = token;
        const linked = { ...look, ...LINK, href };
        if (autolink) return this.#add(text, linked);
        if (this.#marks) return this.#add(raw, look);
        if (text === href || text === '') return this.#add(href, linked);
        this.write(tokens, linked);
        return this.#add(` (${href})`, { ...look, ...DIM });
      }
      case 'image':
        if (this.#marks) return this.#add(token.raw, look);
        this.#add(`[image: ${token.text}]`, { ...look, ...LINK, href: token.href });
        return this.#add(` (${token.href})`, { ...look, ...DIM });
      case 'br':
      case 'html':
        this.lines.push([]);
        return undefined;
      default:
        return this.#add(token.raw, look);
    }
  }

  #emphasize({ raw, text, tokens }: { raw: string; text: string; tokens: Token[] }, look: Style): void {
    const mark = this.#marks ? raw.slice(0, (raw.length - text.length) / 2) : '';
    this.#add(mark, look);
    this.write(tokens, look);
    this.#add(mark, look);
  }

  #add(text: string, look: Style): void {
    const line = this.lines.at(-1);
    if (text === '' || line === undefined) return;
    const last = line.at(-1);
    const isAfterBreak = last === undefined && this.lines.length > 1;
    const added = span((isAfterBreak ? text.trimStart() : text).replaceAll('\n', ' '), look);
    if (last?.look === look) line[line.length - 1] = { text: last.text + added.text, look };
    else if (added.text !== '') line.push(added);
  }
}

/** Replaces line breaks with spaces, except hard ones: after two spaces or a backslash. */
function joinLines(text: string): string {
  return text.trim().replace(/(?<! ) *\n\s*/g, (found, at: number, all: string) => {
    const before = all[at - 1] ?? '';
    if (found.startsWith('  ')) return '  \n';
    if (before === '\\' && found.startsWith('\n')) return '\n';
    return isUnspaced(before, all[at + found.length] ?? '') ? '' : ' ';
  });
}

/** Chinese and Japanese have no spaces between words, so a line break there is dropped. */
function isUnspaced(before: string, after: string): boolean {
  return IDEOGRAPHIC.test(before) && IDEOGRAPHIC.test(after);
}

/** Replaces the entities of HTML with their characters. */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(ENTITY, (source: string, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return ENTITIES[name] ?? source;
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    return code === 0 || code > 0x10ffff ? '\uFFFD' : String.fromCodePoint(code);
  });
}

const ENTITY = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,6}));/gi;
const ENTITIES: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
};
