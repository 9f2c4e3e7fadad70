import { boundaryFrom, nextGrapheme, previousGrapheme } from '../graphemes.ts';

/** From a text and a place in it to another place: what cursor keys move by and what deletions delete up to. */
export type Motion = (text: string, offset: number) => number;

export const left: Motion = previousGrapheme;
export const right: Motion = nextGrapheme;

export const lineStart: Motion = (text, offset) => text.lastIndexOf('\n', offset - 1) + 1;

export const lineEnd: Motion = (text, offset) => {
  const end = text.indexOf('\n', offset);
  return end === -1 ? text.length : end;
};

/** Kills up to the end of the line, or joins the next line when there is nothing up to there. */
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
  return wholeBefore(text, start + (before.findLast(({ isWordLike }) => isWordLike)?.index ?? 0));
};

export const wordRight: Motion = (text, offset) => {
  const end = lineEnd(text, offset);
  if (end === offset) return Math.min(text.length, offset + 1);
  for (const { index, segment, isWordLike } of words.segment(text.slice(offset, end)))
    if (isWordLike) return boundaryFrom(text, offset + index + segment.length);
  return end;
};

/** Back to the space before, as `ctrl-w` does in a shell: a whole path goes at once. */
export const bigWordLeft: Motion = (text, offset) => {
  const start = lineStart(text, offset);
  if (start === offset) return Math.max(0, offset - 1);
  const [word = ''] = /\S*\s*$/.exec(text.slice(start, offset)) ?? [];
  return offset - word.length;
};

/** Thai words are told apart also inside a character; the cursor is not. */
function wholeBefore(text: string, offset: number): number {
  const boundary = boundaryFrom(text, offset);
  return boundary === offset ? offset : previousGrapheme(text, boundary);
}

const words = new Intl.Segmenter(undefined, { granularity: 'word' });
