import { graphemeBoundary, nextGrapheme, previousGrapheme } from '../graphemes.ts';

/** Maps a text and an offset to another offset: where cursor keys move and how far deletions reach. */
export type Motion = (text: string, offset: number) => number;

export const left: Motion = previousGrapheme;
export const right: Motion = nextGrapheme;

export const lineStart: Motion = (text, offset) => text.lastIndexOf('\n', offset - 1) + 1;

export const lineEnd: Motion = (text, offset) => {
  const end = text.indexOf('\n', offset);
  return end === -1 ? text.length : end;
};

/** The end of the line, or behind the line break if already there, which joins the next line. */
export const lineEndOrBreak: Motion = (text, offset) => {
  const end = lineEnd(text, offset);
  return end === offset ? Math.min(text.length, offset + 1) : end;
};

export const lineStartOrBreak: Motion = (text, offset) => {
  const start = lineStart(text, offset);
  return start === offset ? Math.max(0, offset - 1) : start;
};

export const wordLeft: Motion = (text, offset) => {
  const start = lineStart(text, offset);
  if (start === offset) return Math.max(0, offset - 1);
  const before = Array.from(words.segment(text.slice(start, offset)));
  return characterStart(text, start + (before.findLast(({ isWordLike }) => isWordLike)?.index ?? 0));
};

export const wordRight: Motion = (text, offset) => {
  const end = lineEnd(text, offset);
  if (end === offset) return Math.min(text.length, offset + 1);
  for (const { index, segment, isWordLike } of words.segment(text.slice(offset, end)))
    if (isWordLike) return graphemeBoundary(text, offset + index + segment.length);
  return end;
};

/** Back to the previous space, like `ctrl-w` in a shell: deletes a whole path. */
export const bigWordLeft: Motion = (text, offset) => {
  const start = lineStart(text, offset);
  if (start === offset) return Math.max(0, offset - 1);
  const [word = ''] = /\S*\s*$/.exec(text.slice(start, offset)) ?? [];
  return offset - word.length;
};

/** Thai word boundaries can be inside a character, cursor positions cannot. */
function characterStart(text: string, offset: number): number {
  const boundary = graphemeBoundary(text, offset);
  return boundary === offset ? offset : previousGrapheme(text, boundary);
}

const words = new Intl.Segmenter(undefined, { granularity: 'word' });
