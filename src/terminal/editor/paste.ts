import { tryOrUndefined } from '../../base/index.ts';
import { type EditorState, type Folded, fold, insert, insertable } from './state.ts';

/** Recognizes a pasted or dragged path: returns what to show for it, or undefined if it is just text. */
export type RecognisePath = (path: string) => Folded | undefined;

/** A paste with more lines or characters than this is shown as a label. */
const MAX_LINES = 8;
const MAX_LENGTH = 1500;

export function insertPaste(state: EditorState, source: string, recognise: RecognisePath): EditorState {
  const text = insertable(source);
  const files = parsePaths(text).map((path) => ({ path, file: recognise(path) }));
  if (files.some(({ file }) => file !== undefined))
    return files.reduce((next, { path, file }, index) => {
      const spaced = index === 0 ? next : insert(next, ' ');
      return file === undefined ? insert(spaced, path) : fold(spaced, file);
    }, state);
  const lines = text.split('\n').length;
  if (lines <= MAX_LINES && text.length <= MAX_LENGTH) return insert(state, text);
  const label = lines > 1 ? `[pasted ${lines} lines]` : `[pasted ${text.length} characters]`;
  return fold(state, { label, text, path: undefined });
}

/** Parses the paths that a terminal inserts for dragged files: quoted, with escaped spaces, or as a file URL. */
export function parsePaths(text: string): string[] {
  const trimmed = text.trim();
  if (trimmed.length > MAX_LENGTH || !WORDS.test(trimmed)) return [];
  const paths = Array.from(
    trimmed.matchAll(WORD),
    ([, single, double, bare = '']) => single ?? double ?? unquotedPath(bare),
  );
  return paths.every((path) => /^(?:~?\/|\.{1,2}\/)/.test(path)) ? paths : [];
}

const WORD = /'([^'\n]*)'|"([^"\n]*)"|((?:\\.|[^\s\\'"])+)/g;
/** Only such words: an unpaired quote indicates prose. */
const WORDS = new RegExp(`^(?:(?:${WORD.source})(?: +|$))+$`);

function unquotedPath(word: string): string {
  if (!word.startsWith('file://')) return word.replace(/\\(.)/g, '$1');
  // Not a well-formed URL, so it is plain text.
  return (
    tryOrUndefined(() => decodeURIComponent(word.slice('file://'.length).replace(/^localhost/, ''))) ?? word
  );
}
