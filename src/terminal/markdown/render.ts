import { DIM, type Line, type Style, PLAIN, type Span, span, widthOf } from '../style.ts';
import { sanitizeLine } from '../sanitize.ts';
import { chopLine, wrapLine } from '../wrap.ts';
import type { Block } from './block.ts';
import { colouredCode } from './code.ts';
import { inlineLines } from './inline.ts';
import type { InlineStyle } from './pieces.ts';
import { finish, type Reading, START, step } from './step.ts';
import { tableLines } from './table.ts';

export interface MarkdownStyle extends InlineStyle {
  readonly width: number;
  /** The look of ordinary text, as for thoughts, which are dim. */
  readonly base: Style;
}

/** A whole markdown text as lines. */
export function markdownLines(text: string, style: MarkdownStyle, depth = 0): Line[] {
  let reading: Reading = START;
  const blocks: Block[] = [];
  for (const source of text.replace(/\n$/, '').split('\n')) {
    const [next, finished] = step(reading, sourceLine(source));
    reading = next;
    blocks.push(...finished);
  }
  return [...blocks, ...finish(reading)[1]].flatMap((block) => blockLines(block, style, depth));
}

/** A line of markdown as the steps take it. */
export function sourceLine(source: string): string {
  return sanitizeLine(source.replace(/\r$/, ''));
}

export function blockLines(block: Block, style: MarkdownStyle, depth = 0): Line[] {
  const lines = contentLines(block, style, depth);
  return block.gap ? [[], ...lines] : lines;
}

function contentLines(block: Block, style: MarkdownStyle, depth: number): Line[] {
  const { width, base } = style;
  switch (block.type) {
    case 'heading':
      return headingLines(block.level, block.text, style);
    case 'paragraph':
      return wrapped(inlineLines(block.text, base, style), width);
    case 'code-open':
      return block.language === '' ? [] : chopLine([span(`  ${block.language}`, DIM)], width);
    case 'code-line':
      return indented(chopLine(colouredCode(block.text, block.language), inner(width, 2)), span('  '), width);
    case 'item':
      return itemLines(block.marker, block.text, style, depth);
    case 'quote': {
      const within = { ...style, width: inner(width, 2), base: { ...base, dim: true as const } };
      return indented(innerLines(block.text, within, depth), span('│ ', DIM), width);
    }
    case 'table':
      return tableLines(block, width, style);
    case 'rule':
      return [[span('─'.repeat(Math.min(width, RULE_WIDTH)), DIM)]];
  }
}

const RULE_WIDTH = 60;

function headingLines(level: number, text: string, style: MarkdownStyle): Line[] {
  const look: Style = { ...style.base, bold: true, ...(level === 1 ? { underline: true } : {}) };
  const mark = style.marks || level > 2 ? [span(`${'#'.repeat(level)} `, { ...style.base, dim: true })] : [];
  const [first = [], ...rest] = inlineLines(text, look, style);
  return wrapped([[...mark, ...first], ...rest], style.width);
}

function itemLines(marker: string, text: string, style: MarkdownStyle, depth: number): Line[] {
  const [, box, task] = /^\[([ xX])\]\s+([^]*)$/.exec(text) ?? [];
  const bullet = /^[-*+]$/.test(marker) ? '•' : marker;
  const lead: Span[] = [span(`${bullet} `, box === undefined ? { ...style.base, dim: true } : PLAIN)];
  if (box !== undefined) lead[0] = box === ' ' ? span('☐ ', style.base) : span('☑ ', { colour: 'green' });
  const indent = widthOf(lead);
  const lines = innerLines(task ?? text, { ...style, width: inner(style.width, indent) }, depth);
  const [first = [], ...rest] = fitting(style.width, indent) ? lines : [[], ...lines];
  return [[...lead, ...first], ...indented(rest, span(' '.repeat(indent)), style.width)];
}

/** A line of nothing but `> > >` must not be as deep as it is long. */
function innerLines(text: string, style: MarkdownStyle, depth: number): Line[] {
  if (depth < DEEPEST) return markdownLines(text, style, depth + 1);
  return wrapped(inlineLines(text, style.base, style), style.width);
}

const DEEPEST = 16;

/** Deep nesting at a small width would leave no room for the text: there it is not indented any further. */
function inner(width: number, indent: number): number {
  return fitting(width, indent) ? width - indent : width;
}

function fitting(width: number, indent: number): boolean {
  return width - indent >= LEAST_ROOM;
}

const LEAST_ROOM = 8;

function indented(lines: readonly Line[], indent: Span, width: number): Line[] {
  if (!fitting(width, indent.text.length)) return [...lines];
  return lines.map((line) => (line.length === 0 && indent.text.trim() === '' ? line : [indent, ...line]));
}

function wrapped(lines: readonly Line[], width: number): Line[] {
  return lines.flatMap((line) => wrapLine(line, width));
}
