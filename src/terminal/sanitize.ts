const TAB = '    ';
const ESCAPE = '\u001b';
const COLOURS = new RegExp(`${ESCAPE}\\[[\\d;:]*m`, 'g');

/**
 * One line of foreign text as it may be shown: control characters appear as pictures (`␛`), so that neither a model nor a
 * program's output can move the cursor, retitle the window or fake a question. The result is shown by its display width.
 */
export function sanitizeLine(text: string): string {
  if (!SUSPICIOUS.test(text)) return text;
  return text
    .replaceAll('\t', TAB)
    .replace(CONTROLS, picture)
    .replace(LINE_SEPARATORS, ' ')
    .replace(HIDDEN, '');
}

/** The lines of a foreign text, each harmless. A carriage return starts its line again, as on a terminal. */
export function sanitizeLines(text: string): string[] {
  return text
    .replace(/\r+\n/g, '\n')
    .split('\n')
    .map((line) => sanitizeLine(line.slice(line.lastIndexOf('\r', line.length - 2) + 1).replace(/\r$/, '')));
}

/** The same for a text that is decided about: all of it is there to be seen, also what a carriage return would hide. */
export function wholeLines(text: string): string[] {
  return text.replaceAll('\r\n', '\n').split('\n').map(sanitizeLine);
}

/** A foreign text as it may be shown, with its line ends and tabs: for what is longer than a line, and may be copied. */
export function sanitizeText(text: string): string {
  if (!SUSPICIOUS.test(text)) return text;
  return text
    .replaceAll('\r\n', '\n')
    .replace(CONTROLS, (character) =>
      character === '\n' || character === '\t' ? character : picture(character),
    );
}

/** What a program wrote, without the colours that it gave to it. */
export function withoutColours(text: string): string {
  return text.includes(ESCAPE) ? text.replace(COLOURS, '') : text;
}

function picture(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code === 0x7f ? '␡' : '\uFFFD';
}

/** Direction overrides are among them: they make a text read otherwise than it is. */
const CONTROLS = /[\p{Cc}\p{Cs}\u202A-\u202E\u2066-\u2069]/gu;
const LINE_SEPARATORS = /[\u2028\u2029]/g;
/** Terminals disagree about their width. */
const HIDDEN = /[\u00AD\uFEFF]/g;
const SUSPICIOUS = /[\p{Cc}\p{Cs}\u00AD\u2028-\u202E\u2066-\u2069\uFEFF]/u;
