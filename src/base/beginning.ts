/** The beginning of a text, no longer than this, cut between two characters as people count them and never inside one. */
export function beginningOf(text: string, longest: number): string {
  if (text.length <= longest) return text;
  return text.slice(0, boundaryUpTo(text, longest));
}

function boundaryUpTo(text: string, place: number): number {
  // Between two letters of ASCII there is always one, and the first use of a segmenter costs more than a whole turn.
  if (/^[ -~]{2}$/.test(text.slice(place - 1, place + 1))) return place;
  segmenter ??= new Intl.Segmenter();
  // A text may be a megabyte, and only what is around the place matters.
  const from = Math.max(0, place - NEAR);
  return (
    from + (segmenter.segment(text.slice(from, place + NEAR)).containing(place - from)?.index ?? place - from)
  );
}

/** More than any character takes. */
const NEAR = 100;
let segmenter: Intl.Segmenter | undefined;
