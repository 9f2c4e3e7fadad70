import { SIMPLE } from './width.ts';

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Returns the user-perceived characters of a text: an emoji with its joiners is one. */
export function splitGraphemes(text: string): string[] {
  if (SIMPLE.test(text)) return text.split('');
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** Returns the offset at which the next character starts. */
export function nextGrapheme(text: string, offset: number): number {
  if (offset >= text.length) return text.length;
  const window = text.slice(offset, offset + WINDOW);
  const first = segmenter.segment(window).containing(0)?.segment ?? '';
  // A longer character is not typed by people, but it must not be cut.
  const grapheme =
    first.length < window.length ? first : segmenter.segment(text.slice(offset)).containing(0)?.segment;
  return offset + (grapheme?.length ?? 1);
}

/** Returns the offset at which the previous character starts. */
export function previousGrapheme(text: string, offset: number): number {
  if (offset <= 0) return 0;
  // Where a character starts depends on the text before it (flags come in pairs), so segment from the start of
  // the line.
  const from = text.lastIndexOf('\n', offset - 1);
  if (from === offset - 1) return offset - 1;
  const before = text.slice(from + 1, offset);
  return from + 1 + (segmenter.segment(before).containing(before.length - 1)?.index ?? 0);
}

/** Returns the offset if a character starts there, otherwise the end of the character that contains it. */
export function graphemeBoundary(text: string, offset: number): number {
  if (offset >= text.length) return text.length;
  const from = text.lastIndexOf('\n', offset - 1) + 1;
  const around = segmenter.segment(text.slice(from)).containing(offset - from);
  if (around === undefined || from + around.index === offset) return offset;
  return from + around.index + around.segment.length;
}

const WINDOW = 64;
