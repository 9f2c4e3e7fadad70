import { DIM, type Line, type Style, PLAIN, type Span, span, lineWidth } from '../style.ts';
import { sanitizeLine } from '../sanitize.ts';
import { chopLine, wrapLine } from '../wrap.ts';
import type { Block } from './block.ts';
import { colourCode } from './code.ts';
import { inlineLines } from './inline.ts';
import { finish, type ParserState, INITIAL_STATE, step } from './step.ts';
import type { InlineStyle } from './pieces.ts';
import { tableLines } from './table.ts';

export interface MarkdownStyle extends InlineStyle {
  readonly width: number;
  /** The style of ordinary text; thoughts, for example, are dim. */
  readonly base: Style;
}

/** Renders a complete markdown text as lines. */
export function markdownLines(text: string, style: MarkdownStyle, depth = 0): Line[] {
  let reading: ParserState = INITIAL_STATE;
  const blocks: Block[] = [];
  for (const source of text.replace(/\n$/, '').split('\n')) {
    const [next, finished] = step(reading, sourceLine(source));
    reading = next;
    blocks.push(...finished);
  }
  return [...blocks, ...finish(reading)[1]].flatMap((block) => blockLines(block, style, depth));
}

/** Prepares a source line for `step`. */
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
      return wrapLines(inlineLines(block.text, base, style), width);
    case 'code-open':
      return block.language === '' ? [] : chopLine([span(`  ${block.language}`, DIM)], width);
    case 'code-line':
      return indentLines(
        chopLine(colourCode(block.text, block.language), innerWidth(width, 2)),
        span('  '),
        width,
      );
    case 'item':
      return itemLines(block.marker, block.text, style, depth);
    case 'quote': {
      const innerStyle = { ...style, width: innerWidth(width, 2), base: { ...base, dim: true as const } };
      return indentLines(innerLines(block.text, innerStyle, depth), span('│ ', DIM), width);
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
  return wrapLines([[...mark, ...first], ...rest], style.width);
}

function itemLines(marker: string, text: string, style: MarkdownStyle, depth: number): Line[] {
  const [, box, task] = /^\[([ xX])\]\s+([^]*)$/.exec(text) ?? [];
  const bullet = /^[-*+]$/.test(marker) ? '•' : marker;
  const lead: Span[] = [span(`${bullet} `, box === undefined ? { ...style.base, dim: true } : PLAIN)];
  if (box !== undefined) lead[0] = box === ' ' ? span('☐ ', style.base) : span('☑ ', { colour: 'green' });
  const indent = lineWidth(lead);
  const lines = innerLines(task ?? text, { ...style, width: innerWidth(style.width, indent) }, depth);
  const [first = [], ...rest] = hasRoom(style.width, indent) ? lines : [[], ...lines];
  return [[...lead, ...first], ...indentLines(rest, span(' '.repeat(indent)), style.width)];
}

/** Limits the depth: a line of `> > >` must not nest as deep as it is long. */
function innerLines(text: string, style: MarkdownStyle, depth: number): Line[] {
  if (depth < MAX_DEPTH) return markdownLines(text, style, depth + 1);
  return wrapLines(inlineLines(text, style.base, style), style.width);
}

const MAX_DEPTH = 16;

/** Limits indentation: deep nesting at a small width would leave no room for the text. */
function innerWidth(width: number, indent: number): number {
  return hasRoom(width, indent) ? width - indent : width;
}

function hasRoom(width: number, indent: number): boolean {
  return width - indent >= MIN_WIDTH;
}

const MIN_WIDTH = 8;

function indentLines(lines: readonly Line[], indent: Span, width: number): Line[] {
  if (!hasRoom(width, indent.text.length)) return [...lines];
  return lines.map((line) => (line.length === 0 && indent.text.trim() === '' ? line : [indent, ...line]));
}

function wrapLines(lines: readonly Line[], width: number): Line[] {
  return lines.flatMap((line) => wrapLine(line, width));
}
