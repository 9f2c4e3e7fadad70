const TAB = '    ';
const ESCAPE = '\u001b';
const COLOURS = new RegExp(`${ESCAPE}\\[[\\d;:]*m`, 'g');

/**
 * Sanitizes one line of untrusted text: control characters appear as pictures (`␛`), so that neither a model
 * nor a program's output can move the cursor, change the window title or fake a question. The result matches
 * its display width.
 */
export function sanitizeLine(text: string): string {
  if (!SUSPICIOUS.test(text)) return text;
  return text
    .replaceAll('\t', TAB)
    .replace(CONTROLS, controlPicture)
    .replace(LINE_SEPARATORS, ' ')
    .replace(HIDDEN, '');
}

/** Splits untrusted text into sanitized lines. A carriage return restarts its line, as on a terminal. */
export function sanitizeLines(text: string): string[] {
  return text
    .replace(/\r+\n/g, '\n')
    .split('\n')
    .map((line) => sanitizeLine(line.slice(line.lastIndexOf('\r', line.length - 2) + 1).replace(/\r$/, '')));
}

/**
 * Like `sanitizeLines`, but for text that the user decides about: it also shows what a carriage return would
 * hide.
 */
export function sanitizeFullLines(text: string): string[] {
  return text.replaceAll('\r\n', '\n').split('\n').map(sanitizeLine);
}

/** Sanitizes untrusted text but keeps line ends and tabs, for text of several lines that may be copied. */
export function sanitizeText(text: string): string {
  if (!SUSPICIOUS.test(text)) return text;
  return text
    .replaceAll('\r\n', '\n')
    .replace(CONTROLS, (character) =>
      character === '\n' || character === '\t' ? character : controlPicture(character),
    );
}

/** Removes the colours from a program's output. */
export function withoutColours(text: string): string {
  return text.includes(ESCAPE) ? text.replace(COLOURS, '') : text;
}

function controlPicture(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code === 0x7f ? '␡' : '\uFFFD';
}

/** Includes direction overrides, which make text appear different from what it is. */
const CONTROLS = /[\p{Cc}\p{Cs}\u202A-\u202E\u2066-\u2069]/gu;
const LINE_SEPARATORS = /[\u2028\u2029]/g;
/** Terminals disagree about their width. */
const HIDDEN = /[\u00AD\uFEFF]/g;
const SUSPICIOUS = /[\p{Cc}\p{Cs}\u00AD\u2028-\u202E\u2066-\u2069\uFEFF]/u;
