const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** The characters of a text as people see them: an emoji with its joiners is one. */
export function graphemesOf(text: string): string[] {
  if (/^[\x20-\x7e]*$/.test(text)) return text.split('');
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** The offset at which the character after `offset` starts. */
export function nextGrapheme(text: string, offset: number): number {
  if (offset >= text.length) return text.length;
  const near = text.slice(offset, offset + REACH);
  const first = segmenter.segment(near).containing(0)?.segment ?? '';
  // A character that long is not one that people type, but it is not cut either.
  const whole =
    first.length < near.length ? first : segmenter.segment(text.slice(offset)).containing(0)?.segment;
  return offset + (whole?.length ?? 1);
}

/** The offset at which the character before `offset` starts. */
export function previousGrapheme(text: string, offset: number): number {
  if (offset <= 0) return 0;
  // Where a character starts depends on the text before it (flags come in pairs), hence from the start of the line.
  const from = text.lastIndexOf('\n', offset - 1);
  if (from === offset - 1) return offset - 1;
  const before = text.slice(from + 1, offset);
  return from + 1 + (segmenter.segment(before).containing(before.length - 1)?.index ?? 0);
}

/** The offset itself if a character starts there, else the end of the character that it is in. */
export function boundaryFrom(text: string, offset: number): number {
  if (offset >= text.length) return text.length;
  const from = text.lastIndexOf('\n', offset - 1) + 1;
  const around = segmenter.segment(text.slice(from)).containing(offset - from);
  if (around === undefined || from + around.index === offset) return offset;
  return from + around.index + around.segment.length;
}

const REACH = 64;
