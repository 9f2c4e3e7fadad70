import { duration } from '../../output/duration.ts';
import {
  sanitizeLines,
  withoutColours,
  BOLD,
  CYAN,
  DIM,
  GREEN,
  type Line,
  type Style,
  RED,
  span,
  YELLOW,
  diffStyle,
  markdownLines,
  chopLine,
  fitLine,
  wrapLine,
} from '../../../terminal/index.ts';
import type { Card, CardStatus, NoticeTone, ThoughtCard, ToolCard } from '../view/card.ts';

export interface CardStyle {
  readonly width: number;
  readonly expanded: boolean;
  /** The key that expands a folded card, such as `ctrl-o`; empty if there are no keys. */
  readonly key: string;
}

/** The lines of a diff and of an output that a folded card shows. */
const DIFF_LINES = 12;
const OUTPUT_LINES = 5;

/** Renders a card. A folded card shows the start of a diff and the end of an output. */
export function cardLines(card: Card, style: CardStyle): Line[] {
  return card.type === 'tool' ? toolLines(card, style) : thoughtLines(card, style);
}

/** Whether expanding the card shows more. */
export function isFolded(card: Card, style: CardStyle): boolean {
  const folded = cardLines(card, { ...style, expanded: false });
  return folded.length !== cardLines(card, { ...style, expanded: true }).length || card.type === 'thought';
}

function toolLines(card: ToolCard, style: CardStyle): Line[] {
  const { glyph, look } = GLYPHS[card.status];
  const [first = '', ...others] = sanitizeLines(card.title.trim());
  const title = others.length > 0 && !style.expanded ? `${first} …` : first;
  const time = card.durationMs === undefined ? '' : `  ${duration(card.durationMs)}`;
  const word = WORDS[card.status];
  const head = [span(`${glyph} `, look), span(title, BOLD), ...(word === '' ? [] : [span(` ${word}`, look)])];
  const heads = style.expanded
    ? wrapLine([...head, span(time, DIM)], style.width)
    : [[...fitLine(head, Math.max(2, style.width - time.length)), span(time, DIM)]];
  const more = style.expanded ? others.map((line) => [span(line, BOLD)]) : [];
  return [...heads, ...indented(more, style.width), ...indented(body(card, style), style.width)];
}

function body(card: ToolCard, style: CardStyle): Line[] {
  const isWrong = card.status === 'failed' || card.status === 'denied';
  const summary =
    card.summary === ''
      ? []
      : sanitizeLines(card.summary.trim()).map((text) => [span(text, isWrong ? RED : DIM)]);
  const diff = sanitizeLines(card.diff.trimEnd()).map((text) => [span(text, diffStyle(text))]);
  const output = sanitizeLines(withoutColours(card.output).trimEnd()).map((text) => [
    span(text, isWrong ? RED : DIM),
  ]);
  return [
    ...(style.expanded ? summary : summary.slice(0, 1)),
    ...(card.diff === '' ? [] : headOf(diff, DIFF_LINES, style)),
    ...(card.output === '' ? [] : tailOf(output, OUTPUT_LINES, style)),
  ];
}

/** A single remaining line is shown rather than counted. */
function headOf(lines: readonly Line[], most: number, style: CardStyle): Line[] {
  if (style.expanded || lines.length <= most + 1) return [...lines];
  return [...lines.slice(0, most), hint(`… ${lines.length - most} more lines`, style)];
}

function tailOf(lines: readonly Line[], most: number, style: CardStyle): Line[] {
  if (style.expanded || lines.length <= most + 1) return [...lines];
  return [hint(`… ${lines.length - most} lines before`, style), ...lines.slice(-most)];
}

function hint(text: string, { key }: CardStyle): Line {
  return [span(key === '' ? text : `${text} (${key})`, DIM)];
}

function thoughtLines({ text, durationMs }: ThoughtCard, style: CardStyle): Line[] {
  const time = durationMs === undefined ? 'thought' : `thought for ${duration(durationMs)}`;
  const head = [
    span('✻ ', CYAN),
    span(time, DIM),
    span(style.expanded || style.key === '' ? '' : ` (${style.key})`, DIM),
  ];
  if (!style.expanded) return [fitLine(head, style.width)];
  const within = {
    width: style.width - INDENT.length,
    base: { ...DIM, italic: true as const },
    marks: false,
  };
  return [fitLine(head, style.width), ...indented(markdownLines(text.trim(), within), style.width)];
}

/** Renders a message of a user. */
export function messageLines(text: string, width: number): Line[] {
  return sanitizeLines(text.trim())
    .flatMap((line) => wrapLine([span(line, BOLD)], width - INDENT.length))
    .map((line, index) => [index === 0 ? span('❯ ', CYAN) : span(INDENT), ...line]);
}

/** Renders a notice, such as `ada approved through hld`. */
export function noticeLines(text: string, tone: NoticeTone, width: number): Line[] {
  const look: Style = { quiet: DIM, warning: YELLOW, error: RED }[tone];
  const glyph = { quiet: '· ', warning: '! ', error: '✗ ' }[tone];
  return sanitizeLines(text.trim())
    .flatMap((line) => wrapLine([span(line, look)], width - INDENT.length))
    .map((line, index) => [span(index === 0 ? glyph : INDENT, look), ...line]);
}

const INDENT = '  ';

function indented(lines: readonly Line[], width: number): Line[] {
  return lines
    .flatMap((line) => chopLine(line, width - INDENT.length))
    .map((line) => (line.length === 0 ? line : [span(INDENT), ...line]));
}

const GLYPHS: Readonly<Record<CardStatus, { readonly glyph: string; readonly look: Style }>> = {
  preview: { glyph: '?', look: YELLOW },
  waiting: { glyph: '?', look: YELLOW },
  running: { glyph: '●', look: CYAN },
  done: { glyph: '✓', look: GREEN },
  failed: { glyph: '✗', look: RED },
  denied: { glyph: '⊘', look: RED },
  cancelled: { glyph: '■', look: YELLOW },
};

/** The status as a word, because the glyphs are ambiguous without colours. */
const WORDS: Readonly<Record<CardStatus, string>> = {
  preview: '',
  waiting: 'waits for approval',
  running: '',
  done: '',
  failed: 'failed',
  denied: 'denied',
  cancelled: 'cancelled',
};
