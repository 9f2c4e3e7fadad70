import { type EditorState, type Folded, fold, insert, insertable } from './state.ts';

/** Tells what a pasted or dragged path is to the program: what to show for it, or undefined if it is just text. */
export type Recognise = (path: string) => Folded | undefined;

/** A paste with more lines, or more characters, than this shows as a label. */
const MOST_LINES = 8;
const MOST_LENGTH = 1500;

export function pasted(state: EditorState, source: string, recognise: Recognise): EditorState {
  const text = insertable(source);
  const files = pathsIn(text).map((path) => ({ path, file: recognise(path) }));
  if (files.some(({ file }) => file !== undefined))
    return files.reduce((next, { path, file }, index) => {
      const spaced = index === 0 ? next : insert(next, ' ');
      return file === undefined ? insert(spaced, path) : fold(spaced, file);
    }, state);
  const lines = text.split('\n').length;
  if (lines <= MOST_LINES && text.length <= MOST_LENGTH) return insert(state, text);
  const label = lines > 1 ? `[pasted ${lines} lines]` : `[pasted ${text.length} characters]`;
  return fold(state, { label, text, path: undefined });
}

/** The paths that a terminal inserts for dragged files: quoted, with escaped spaces, or as a file URL. */
export function pathsIn(text: string): string[] {
  const trimmed = text.trim();
  if (trimmed.length > MOST_LENGTH || !WORDS.test(trimmed)) return [];
  const paths = Array.from(
    trimmed.matchAll(WORD),
    ([, single, double, bare = '']) => single ?? double ?? fromBare(bare),
  );
  return paths.every((path) => /^(?:~?\/|\.{1,2}\/)/.test(path)) ? paths : [];
}

const WORD = /'([^'\n]*)'|"([^"\n]*)"|((?:\\.|[^\s\\'"])+)/g;
/** Nothing but such words: a quote without its partner means prose. */
const WORDS = new RegExp(`^(?:(?:${WORD.source})(?: +|$))+$`);

function fromBare(word: string): string {
  if (!word.startsWith('file://')) return word.replace(/\\(.)/g, '$1');
  try {
    return decodeURIComponent(word.slice('file://'.length).replace(/^localhost/, ''));
  } catch {
    // Not a well-formed URL: it is text as it stands.
    return word;
  }
}
