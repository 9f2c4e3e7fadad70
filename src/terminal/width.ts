/** Returns how many columns a text takes: East Asian characters and emoji take two, combining marks none. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  if (SIMPLE.test(text)) return text.length + (text.match(SIMPLE_WIDE)?.length ?? 0);
  let width = 0;
  for (const { segment } of segmentGraphemes(text)) width += graphemeWidth(segment);
  return width;
}

/** Truncates a text to the columns, never inside a character; `…` marks the cut. */
export function fitWidth(text: string, columns: number): string {
  if (PLAIN.test(text))
    return text.length <= columns ? text : withEllipsis(text.slice(0, Math.max(0, columns - 1)), columns);
  let result = '';
  let width = 0;
  // Stops as soon as possible: only the beginning of a long text is examined.
  for (const { segment } of segmentGraphemes(text)) {
    width += graphemeWidth(segment);
    if (width > columns) return withEllipsis(result, columns);
    if (width < columns) result += segment;
  }
  return text;
}

function withEllipsis(result: string, columns: number): string {
  return columns > 0 ? `${result}…` : '';
}

/** Like `fitWidth`, but keeps the end, which is more informative for paths. */
export function fitWidthEnd(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  if (columns > 0 && PLAIN.test(text)) return `…${text.slice(text.length - columns + 1)}`;
  let result = '';
  let width = 0;
  for (const { segment } of [...segmentGraphemes(text)].toReversed()) {
    width += graphemeWidth(segment);
    if (width > columns - 1) break;
    result = segment + result;
  }
  return columns > 0 ? `…${result}` : '';
}

/**
 * Nearly all text is ASCII or was truncated here: every character is one column; splitting into graphemes takes
 * a hundred times as long.
 */
const PLAIN = /^[\x20-\x7e…]*$/;

/** Characters that never combine: ASCII, our own pictures and lines, and most of Chinese and Japanese. */
export const SIMPLE =
  /^[\x20-\x7e…•\u2400-\u2426\u2500-\u257F\u2610\u3001-\u3011\u3041-\u3096\u30A1-\u30FC\u4E00-\u9FFF\uFF01-\uFF5E]*$/;
const SIMPLE_WIDE = /[\u3001-\uFF5E]/g;

let segmenter: Intl.Segmenter | undefined;

/** Created when first needed: that takes longer than printing a table of plain ASCII. */
function segmentGraphemes(text: string): Iterable<Intl.SegmentData> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return segmenter.segment(text);
}

function graphemeWidth(grapheme: string): number {
  if (EMOJI.test(grapheme) || FLAG.test(grapheme)) return 2;
  let width = 0;
  for (const character of grapheme) width += characterWidth(character);
  return width;
}

function characterWidth(character: string): number {
  if (NO_WIDTH.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

/** Shown as a picture by itself, or made one by the variation selector. */
const EMOJI = /\p{Emoji_Presentation}|\p{Extended_Pictographic}\uFE0F|[\d#*]\uFE0F?\u20E3/u;
const FLAG = /^\p{Regional_Indicator}{2}$/u;
/** Combining marks, format characters and control characters. */
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}\u1160-\u11FF]$/u;
const WIDE =
  /^[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1B000}-\u{1B2FF}\u{20000}-\u{3FFFD}]$/u;
