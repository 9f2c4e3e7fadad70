/** Truncates a text to at most `maxLength` UTF-16 code units, without splitting a grapheme. */
export function truncateText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return text.slice(0, boundaryBefore(text, maxLength));
}

/** Truncates a text like `truncateText` and appends an ellipsis, if it is longer. */
export function ellipsize(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${truncateText(text, maxLength)}…`;
}

function boundaryBefore(text: string, index: number): number {
  // There is always a boundary between two printable ASCII characters. Creating the first segmenter takes milliseconds.
  if (/^[ -~]{2}$/.test(text.slice(index - 1, index + 1))) return index;
  segmenter ??= new Intl.Segmenter();
  // The text may be a megabyte long, and only the characters near the index matter.
  const from = Math.max(0, index - NEAR);
  return (
    from + (segmenter.segment(text.slice(from, index + NEAR)).containing(index - from)?.index ?? index - from)
  );
}

/** Longer than any grapheme. */
const NEAR = 100;
let segmenter: Intl.Segmenter | undefined;
