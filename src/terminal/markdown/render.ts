import type { Tokens } from 'marked';
import { DIM, type Line, type Style, type Span, span } from '../style.ts';
import { chopLine, wrapLine } from '../wrap.ts';
import { type Block, blocksOf, hasGap, type Position, START } from './blocks.ts';
import { type CodeState, colourCode } from './code.ts';
import { type InlineStyle, inlineLines } from './inline.ts';
import { itemStart } from './item-indent.ts';
import { tableLines } from './table.ts';

export interface MarkdownStyle extends InlineStyle {
  readonly width: number;
  /** The style of ordinary text; thoughts, for example, are dim. */
  readonly base: Style;
}

/** Renders consecutive blocks, with empty lines between them. */
export function blockLines(
  blocks: readonly Block[],
  style: MarkdownStyle,
  position: Position = START,
): Line[] {
  let before = position;
  return blocks.flatMap((block) => {
    const lines = contentLines(block, style);
    const gap = hasGap(before, block.type) ? [[]] : [];
    before = { last: block.type, isBlankAfter: block.isBlankAfter };
    return [...gap, ...lines];
  });
}

function contentLines({ token }: Block, style: MarkdownStyle): Line[] {
  const { width, base } = style;
  switch (token.type) {
    case 'heading':
      return headingLines(token, style);
    case 'paragraph':
    case 'text':
      return wrapLines(inlineLines(token.text, base, style), width);
    case 'code':
      return codeLines(token, style);
    case 'list_item':
      return itemLines(token, style);
    case 'blockquote':
      return frameLines(blockLines(blocksOf(token.tokens), quoteStyle(style)), QUOTE, width);
    case 'table':
      return tableLines(token, width, style).lines;
    case 'hr':
      return [[span('─'.repeat(Math.min(width, RULE_WIDTH)), DIM)]];
  }
}

const RULE_WIDTH = 60;

function headingLines({ depth, text }: Tokens.Heading, style: MarkdownStyle): Line[] {
  const look: Style = { ...style.base, bold: true, ...(depth === 1 ? { underline: true } : {}) };
  const mark = style.marks || depth > 2 ? [span(`${'#'.repeat(depth)} `, { ...style.base, dim: true })] : [];
  const [first = [], ...rest] = inlineLines(text, look, style);
  return wrapLines([[...mark, ...first], ...rest], style.width);
}

function codeLines({ raw, text, lang }: Tokens.Code, style: MarkdownStyle): Line[] {
  const language = languageOf(lang);
  const lines = languageLines(language, style.width);
  let state: CodeState = { language, context: [] };
  // The text of no line and of an empty line are the same.
  const isEmpty = text === '' && raw.replace(/\n$/, '').split('\n').length < 3;
  for (const source of isEmpty ? [] : text.replace(/\n$/, '').split('\n')) {
    const [next, rows] = codeLine(state, source, style);
    state = next;
    lines.push(...rows);
  }
  return lines;
}

/** Returns the language in the text after a code fence. */
export function languageOf(words: string | undefined): string {
  return words?.split(/\s+/)[0] ?? '';
}

/** Renders the name of a language above its code. */
export function languageLines(language: string, width: number): Line[] {
  return language === '' ? [] : chopLine([span(`  ${language}`, DIM)], width);
}

/** Renders the next line of a code block. */
export function codeLine(state: CodeState, text: string, { width }: MarkdownStyle): [CodeState, Line[]] {
  const [next, line] = colourCode(state, text);
  return [next, frameLines(chopLine(line, innerWidth(width, 2)), CODE, width)];
}

function itemLines(item: Tokens.ListItem, style: MarkdownStyle): Line[] {
  const frame = itemFrame(item, style);
  const tokens = item.tokens.filter(({ type }) => type !== 'checkbox');
  const blocks = blocksOf(tokens).map((block, index): Block => {
    const { token } = block;
    if (index > 0 || !item.loose || (token.type !== 'paragraph' && token.type !== 'text')) return block;
    return { ...block, token: { ...token, text: withoutTask(item, token.text) } };
  });
  const lines = blockLines(blocks, innerStyle(style, frame));
  return frameLines(lines.length === 0 ? [[]] : lines, frame, style.width);
}

/** Removes the box of a task from the text of its item. */
export function withoutTask({ task }: Tokens.ListItem, text: string): string {
  return task ? text.replace(/^\[[ xX]\]\s+/, '') : text;
}

/** What surrounds the lines of a block inside another one. */
export interface Frame {
  /** Precedes the first line. */
  readonly lead: Span;
  /** Precedes the following lines. */
  readonly indent: Span;
  /** The width of both. */
  readonly columns: number;
}

export const QUOTE: Frame = { lead: span('│ ', DIM), indent: span('│ ', DIM), columns: 2 };
const CODE: Frame = { lead: span('  '), indent: span('  '), columns: 2 };

/** Returns the marker of a list item as a frame. */
export function itemFrame({ raw, task, checked }: Tokens.ListItem, { base }: MarkdownStyle): Frame {
  const [first = ''] = raw.split('\n', 1);
  const marker = itemStart(first)?.marker ?? '-';
  const bullet = /^[-*+]$/.test(marker) ? '•' : marker;
  const lead = task ? taskBox(checked === true, base) : span(`${bullet} `, { ...base, dim: true });
  const columns = task ? 2 : bullet.length + 1;
  return { lead, indent: span(' '.repeat(columns)), columns };
}

function taskBox(isDone: boolean, base: Style): Span {
  return isDone ? span('☑ ', { colour: 'green' }) : span('☐ ', base);
}

export function quoteStyle(style: MarkdownStyle): MarkdownStyle {
  return { ...innerStyle(style, QUOTE), base: { ...style.base, dim: true } };
}

/** Returns the style of the lines in a frame. */
export function innerStyle(style: MarkdownStyle, { columns }: Frame): MarkdownStyle {
  return { ...style, width: innerWidth(style.width, columns) };
}

/** Limits indentation: deep nesting at a small width would leave no room for the text. */
function innerWidth(width: number, indent: number): number {
  return hasRoom(width, indent) ? width - indent : width;
}

function hasRoom(width: number, indent: number): boolean {
  return width - indent >= MIN_WIDTH;
}

const MIN_WIDTH = 8;

/** Puts lines into a frame, or continues it. */
export function frameLines(
  lines: readonly Line[],
  { lead, indent, columns }: Frame,
  width: number,
  isStarted = false,
): Line[] {
  const isEmpty = indent.text.trim() === '';
  const isMarked = lead.text !== indent.text;
  if (!hasRoom(width, columns))
    return isMarked && !isStarted && lines.length > 0 ? [[lead], ...lines] : [...lines];
  return lines.map((line, index) => {
    if (index === 0 && isMarked && !isStarted) return [lead, ...line];
    return line.length === 0 && isEmpty ? line : [indent, ...line];
  });
}

function wrapLines(lines: readonly Line[], width: number): Line[] {
  return lines.flatMap((line) => wrapLine(line, width));
}
