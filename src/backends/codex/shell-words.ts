/**
 * Returns the script of a command line such as `/bin/bash -lc 'npm test'`, because the rules of the user are about `npm test`. Codex
 * reports the program and its arguments as one quoted line. A line that is anything else is returned as it is.
 */
export function scriptOf(line: string): string {
  const words = shellWords(line);
  const [shell = '', option = '', script] = words ?? [];
  const isShell = words?.length === 3 && /^(?:\/[\w/.-]*\/)?(?:bash|sh|zsh)$/.test(shell);
  return isShell && (option === '-lc' || option === '-c') && script !== undefined ? script : line;
}

/** Splits a line of quoted words; undefined if a shell would do more with it than that. */
function shellWords(line: string): readonly string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < line.length; ) {
    const piece = pieceAt(line, at);
    if (piece === undefined) return undefined;
    at += piece.length;
    if (piece.text !== undefined) word = (word ?? '') + piece.text;
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  return word === undefined ? words : [...words, word];
}

interface Piece {
  readonly length: number;
  /** Undefined for the space between two words. */
  readonly text: string | undefined;
}

function pieceAt(line: string, at: number): Piece | undefined {
  for (const { pattern, text } of PIECES) {
    pattern.lastIndex = at;
    const [all, inner = ''] = pattern.exec(line) ?? [];
    if (all !== undefined) return { length: all.length, text: text(inner) };
  }
  return undefined;
}

const PIECES: readonly { readonly pattern: RegExp; readonly text: (inner: string) => string | undefined }[] =
  [
    { pattern: /( +)/y, text: () => undefined },
    { pattern: /'([^']*)'/y, text: (inner) => inner },
    // An unescaped `$` or backquote would be replaced by a shell.
    {
      pattern: /"((?:[^"\\$`]|\\[\s\S])*)"/y,
      text: (inner) => inner.replaceAll(/\\([\\"$`])|\\\n/g, '$1'),
    },
    { pattern: /\\([^\n])/y, text: (inner) => inner },
    { pattern: /([\w@%+=:,./^!-]+)/y, text: (inner) => inner },
  ];
