const LONGEST = 60;
/** Only the start of a prompt is read: it may be a megabyte long. */
const READ = 2_000;

/**
 * The first sentence of a line. A short one, such as a greeting, is not a title: it is taken together with the next one. A full stop
 * before a small letter ends no sentence: `e.g. this`.
 */
const SENTENCE = /^(?:.{12,}?[.!?]+(?=\s+\P{Ll})|.{6,}?[。！？])/u;

/** The first meaningful sentence of a prompt, in at most 60 columns; undefined if the prompt has no text. */
export function promptTitle(prompt: string): string | undefined {
  const line = firstLine(prompt);
  if (line === undefined) return undefined;
  const [sentence = line] = SENTENCE.exec(line) ?? [];
  return fitted(sentence.replace(/[.:,;。：，]+$/u, ''));
}

/** The title in the answer of a model, which may have quoted or formatted it; undefined if there is none. */
export function writtenTitle(answer: string): string | undefined {
  const line = firstLine(answer)
    ?.replace(/^(?:\*\*)?title(?:\*\*)?\s*:\s*/i, '')
    .replace(/^["'`*“„«「]+|["'`*”“»」.]+$/gu, '')
    .trim();
  return line === undefined || line === '' ? undefined : fitted(line);
}

/** The first line with a letter or a digit, without control characters, Markdown markers and surrounding space. */
function firstLine(text: string): string | undefined {
  const lines = text
    .slice(0, READ)
    .split(/[\r\n\u2028\u2029]+/)
    .map((line) =>
      line
        .replaceAll(/[\p{Cc}\p{Cs}\u202A-\u202E\u2066-\u2069]+/gu, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim()
        .replace(/^(?:#{1,6}|>|[-*+]|\d+[.)]) /, ''),
    );
  return lines.find((line) => /[\p{L}\p{N}]/u.test(line) && !line.startsWith('```'));
}

/** Cuts between graphemes, and between words if that loses little. */
function fitted(text: string): string {
  if (2 * text.length <= LONGEST || (text.length <= LONGEST && ASCII.test(text))) return text;
  segmenter ??= new Intl.Segmenter();
  let [cut, width] = ['', 0];
  for (const { segment, index } of segmenter.segment(text)) {
    // An estimate of the terminal columns. The code that draws the title cuts it to the available width.
    width += WIDE.test(segment) ? 2 : 1;
    if (width < LONGEST) cut = text.slice(0, index + segment.length);
    else if (width > LONGEST) break;
  }
  if (width <= LONGEST) return text;
  const space = text[cut.length] === ' ' ? cut.length : cut.lastIndexOf(' ');
  return `${(space > LONGEST / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}

const ASCII = /^[ -~]*$/;
const WIDE =
  /[\p{Extended_Pictographic}\p{sc=Han}\p{sc=Hangul}\p{sc=Hiragana}\p{sc=Katakana}\u3000-\u303F\uFF01-\uFF60]/u;
/** Creating the first segmenter takes milliseconds. */
let segmenter: Intl.Segmenter | undefined;
