/** How many columns of a terminal a text takes: East Asian characters and emoji take two, combining marks none. */
export function displayWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemesIn(text)) width += graphemeWidth(segment);
  return width;
}

/** As much of the text as fits into the columns, never cut inside a character; what is left out shows as `…`. */
export function fitWidth(text: string, columns: number): string {
  if (PLAIN.test(text))
    return text.length <= columns ? text : ended(text.slice(0, Math.max(0, columns - 1)), columns);
  let kept = '';
  let width = 0;
  // Not further than it takes: of a long text only the beginning is looked at.
  for (const { segment } of graphemesIn(text)) {
    width += graphemeWidth(segment);
    if (width > columns) return ended(kept, columns);
    if (width < columns) kept += segment;
  }
  return text;
}

function ended(kept: string, columns: number): string {
  return columns > 0 ? `${kept}…` : '';
}

/** As `fitWidth`, but the end is kept: of a path it says more than the beginning. */
export function fitWidthEnd(text: string, columns: number): string {
  if (displayWidth(text) <= columns) return text;
  if (columns > 0 && PLAIN.test(text)) return `…${text.slice(text.length - columns + 1)}`;
  let kept = '';
  let width = 0;
  for (const { segment } of [...graphemesIn(text)].toReversed()) {
    width += graphemeWidth(segment);
    if (width > columns - 1) break;
    kept = segment + kept;
  }
  return columns > 0 ? `…${kept}` : '';
}

/** Nearly all text is ASCII, or what was cut by us: every character is one column; to look for graphemes takes a hundred times as long. */
const PLAIN = /^[\x20-\x7e…]*$/;

let segmenter: Intl.Segmenter | undefined;

/** Made when the first text needs it: that takes longer than to print a whole table of plain ASCII. */
function graphemesIn(text: string): Iterable<Intl.SegmentData> {
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
/** Combining marks, format characters and controls. */
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}\u1160-\u11FF]$/u;
const WIDE =
  /^[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1B000}-\u{1B2FF}\u{20000}-\u{3FFFD}]$/u;
