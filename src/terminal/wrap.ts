import { displayWidth, SIMPLE } from './width.ts';
import { splitGraphemes } from './graphemes.ts';
import { type Line, type Span, span, lineText, lineWidth } from './style.ts';

/** A part of a text, from one offset to another. */
export interface TextRange {
  readonly start: number;
  readonly end: number;
}

/** Wraps a line into rows, between words if possible and never inside a character. */
export function wrapLine(line: Line, width: number): Line[] {
  const text = lineText(line);
  // Measuring a long text only to find out that it is long costs as much as wrapping it.
  if (text.length <= 2 * width && displayWidth(text) <= width) return [line];
  return wordParts(text, width).map((part) => sliceLine(line, part));
}

/** Splits a line into full rows, as for code. */
export function chopLine(line: Line, width: number): Line[] {
  const text = lineText(line);
  if (displayWidth(text) <= width) return [line];
  return fillParts(text, width).map((part) => sliceLine(line, part));
}

/** Truncates a line to the width; `…` marks the cut. */
export function fitLine(line: Line, width: number): Line {
  if (lineWidth(line) <= width) return line;
  if (width <= 0) return [];
  const [first] = fillParts(lineText(line), width - 1);
  const start = first === undefined ? [] : sliceLine(line, first);
  // A single character can already be too wide.
  const result = lineWidth(start) < width ? start : [];
  return [...result, span('…', result.at(-1)?.look)];
}

/** Returns the parts of a text that fill one row each. */
export function fillParts(text: string, width: number): TextRange[] {
  const parts: TextRange[] = [];
  let start = 0;
  let end = 0;
  let used = 0;
  for (const grapheme of splitGraphemes(text)) {
    const columns = displayWidth(grapheme);
    if (used + columns > width && end > start) {
      parts.push({ start, end });
      start = end;
      used = 0;
    }
    end += grapheme.length;
    used += columns;
  }
  return [...parts, { start, end }];
}

function wordParts(text: string, width: number): TextRange[] {
  const parts: TextRange[] = [];
  let start = 0;
  let end = 0;
  let offset = 0;
  let used = 0;
  const endRow = () => {
    if (end > start) parts.push({ start, end });
    start = offset;
    used = 0;
  };
  for (const { word, spaces } of splitWords(text)) {
    const columns = displayWidth(word);
    if ((used > 0 || end > start) && used + columns > width) endRow();
    if (columns > width) {
      const pieces = fillParts(word, width).map((part) => ({
        start: offset + part.start,
        end: offset + part.end,
      }));
      parts.push(...pieces.slice(0, -1));
      start = pieces.at(-1)?.start ?? offset;
      used = displayWidth(text.slice(start, offset + word.length));
    } else used += columns;
    offset += word.length;
    end = offset;
    offset += spaces;
    used += spaces;
  }
  endRow();
  return parts.length === 0 ? [{ start: 0, end: 0 }] : parts;
}

interface Word {
  readonly word: string;
  /** The number of spaces after it. */
  readonly spaces: number;
}

function splitWords(text: string): Word[] {
  return Array.from(text.matchAll(WORD))
    .filter(([all]) => all !== '')
    .flatMap(([, word = '', spaces = '']) => {
      const pieces = word === '' ? [''] : unspacedWords(word);
      return pieces.map((piece, index) => ({
        word: piece,
        spaces: index === pieces.length - 1 ? spaces.length : 0,
      }));
    });
}

/** Splits a text without spaces where it may break: between Chinese and Japanese characters, between Thai words. */
function unspacedWords(word: string): string[] {
  if (!UNSPACED.test(word)) return [word];
  const pieces: string[] = [];
  for (const piece of SIMPLE.test(word) ? word.split('') : segmentWord(word)) {
    const last = pieces.at(-1);
    if (
      last !== undefined &&
      (NOT_FIRST.test(piece) || NOT_LAST.test(last.slice(-1)) || !mayBreak(last, piece))
    )
      pieces[pieces.length - 1] = last + piece;
    else pieces.push(piece);
  }
  return pieces;
}

function segmentWord(word: string): string[] {
  return Array.from(words.segment(word), ({ segment }) => segment).flatMap(ideographs);
}

function ideographs(piece: string): string[] {
  return IDEOGRAPHIC.test(piece) ? splitGraphemes(piece) : [piece];
}

function mayBreak(before: string, after: string): boolean {
  return UNSPACED.test(before.at(-1) ?? '') || UNSPACED.test(after[0] ?? '') || UNSPACED.test(after);
}

/** A space with a combining mark is part of a character, not a gap. */
const WORD = /((?:[^ ]| (?=[\p{M}\p{EMod}\u200C\u200D]))*)((?: (?![\p{M}\p{EMod}\u200C\u200D]))*)/gu;
const words = new Intl.Segmenter('th', { granularity: 'word' });
/** Characters of scripts that have no spaces between words, and their punctuation. */
export const IDEOGRAPHIC = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\u3000-\u303F\uFF00-\uFFEF]/u;
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\u3000-\u303F\uFF00-\uFFEF]/u;
/**
 * Closing marks and small kana do not start a row, nor do marks that word segmenters separate from their
 * letter; opening marks do not end one.
 */
const NOT_FIRST =
  /^[\p{M}\u0E33\u0EB3\u200C\u200D\p{Pe}\p{Pf}、。，．・：；！？‼ー々〻ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ,.:;!?%…”’ๆฯ]/u;
const NOT_LAST = /[\p{Ps}\p{Pi}“‘]$/u;

/** Returns a part of a line with its styles. */
export function sliceLine(line: Line, { start, end }: TextRange): Line {
  const result: Span[] = [];
  let offset = 0;
  for (const { text, look } of line) {
    const part = text.slice(Math.max(0, start - offset), Math.max(0, end - offset));
    if (part !== '') result.push({ text: part, look });
    offset += text.length;
    if (offset >= end) break;
  }
  return result;
}
