import { boundaryFrom } from '../graphemes.ts';

/** Something in the input that shows as a label and counts as one character: a long paste, a file. */
export interface Folded {
  readonly label: string;
  /** What it stands for in the submitted text. */
  readonly text: string;
  /** The file that goes with the message, if it is one. */
  readonly path: string | undefined;
}

export interface Choice {
  readonly label: string;
  readonly detail: string;
  readonly insert: string;
}

/** What could stand between `from` and the cursor. */
export interface Completion {
  readonly from: number;
  readonly choices: readonly Choice[];
  /** Whether the menu opens by itself, as for commands. */
  readonly eager: boolean;
}

interface Snapshot {
  readonly text: string;
  readonly cursor: number;
}

/** Everything that the input editor knows; a value, so that each key makes the next. */
export interface EditorState extends Snapshot {
  /** Each is one private character in the text; see `fold`. */
  readonly folded: readonly Folded[];
  readonly undo: readonly Snapshot[];
  readonly killed: string;
  readonly history: readonly string[];
  /** The entry of the history that is shown, and what was being written before. */
  readonly recalled: { readonly index: number; readonly draft: string } | undefined;
  readonly menu: { readonly completion: Completion; readonly selected: number } | undefined;
  /** What the last key did: typing is undone in words, kills one after the other add up. */
  readonly last: 'typed' | 'killed' | 'other';
}

const MOST_UNDO = 200;
const MOST_HISTORY = 1000;

export function newEditor(history: readonly string[] = []): EditorState {
  return {
    text: '',
    cursor: 0,
    folded: [],
    undo: [],
    killed: '',
    history,
    recalled: undefined,
    menu: undefined,
    last: 'other',
  };
}

/** Puts a text in the place of another, which undo brings back. */
export function replace(state: EditorState, start: number, end: number, text: string): EditorState {
  const changed = state.text.slice(0, start) + text + state.text.slice(end);
  return {
    ...state,
    text: changed,
    // What was typed may have become one character with what follows it.
    cursor: boundaryFrom(changed, start + text.length),
    undo: [...state.undo, { text: state.text, cursor: state.cursor }].slice(-MOST_UNDO),
    last: 'other',
  };
}

export function insert(state: EditorState, text: string): EditorState {
  return replace(state, state.cursor, state.cursor, text);
}

export function moveTo(state: EditorState, cursor: number): EditorState {
  return { ...state, cursor, last: 'other' };
}

export function undone(state: EditorState): EditorState {
  const before = state.undo.at(-1);
  if (before === undefined) return state;
  return { ...state, text: before.text, cursor: before.cursor, undo: state.undo.slice(0, -1), last: 'other' };
}

/** An empty input, the text kept as the newest of the history. */
export function cleared(state: EditorState): EditorState {
  const { text, history } = state;
  const kept =
    text.trim() === '' || history.at(-1) === text ? history : [...history, text].slice(-MOST_HISTORY);
  return { ...newEditor(kept), folded: state.folded, killed: state.killed };
}

/** Inserts something as one character that shows as its label. */
export function fold(state: EditorState, folded: Folded): EditorState {
  if (state.folded.length > LAST_FOLD - FIRST_FOLD) return insert(state, folded.text);
  const character = String.fromCodePoint(FIRST_FOLD + state.folded.length);
  return { ...insert(state, character), folded: [...state.folded, folded] };
}

export function foldedAt(character: string, folded: readonly Folded[]): Folded | undefined {
  const code = character.codePointAt(0) ?? 0;
  return code >= FIRST_FOLD ? folded[code - FIRST_FOLD] : undefined;
}

/** The text as it is submitted, and the files that go with it. */
export function unfolded({ text, folded }: EditorState): {
  readonly text: string;
  readonly paths: readonly string[];
} {
  const found = Array.from(text.matchAll(FOLDS), ([character]) => foldedAt(character, folded));
  return {
    text: text.replace(FOLDS, (character) => foldedAt(character, folded)?.text ?? ''),
    paths: found.flatMap((each) => (each?.path === undefined ? [] : [each.path])),
  };
}

/** Foreign text as it may be inserted: no control characters, and none of those that stand for folds. */
export function insertable(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/(?![\n\t])\p{Cc}/gu, '')
    .replace(FOLDS, '');
}

/** The last private plane: no font uses it, and segmenters take each of its characters as one. */
const FIRST_FOLD = 0x100000;
const LAST_FOLD = 0x10fffd;
const FOLDS = /[\u{100000}-\u{10FFFD}]/gu;
