import { graphemeBoundary } from '../graphemes.ts';

/** A part of the input that is shown as a label and counts as one character: a long paste or a file. */
export interface Folded {
  readonly label: string;
  /** Its text in the submitted input. */
  readonly text: string;
  /** The attached file, if it is one. */
  readonly path: string | undefined;
}

export interface Choice {
  readonly label: string;
  readonly detail: string;
  readonly insert: string;
}

/** Replacements for the text between `from` and the cursor. */
export interface Completion {
  readonly from: number;
  readonly choices: readonly Choice[];
  /** Whether the menu opens automatically, as for commands. */
  readonly eager: boolean;
}

interface Snapshot {
  readonly text: string;
  readonly cursor: number;
}

/** The immutable state of the input editor; each key produces the next state. */
export interface EditorState extends Snapshot {
  /** Each is one private-use character in the text; see `fold`. */
  readonly folded: readonly Folded[];
  readonly undo: readonly Snapshot[];
  readonly killed: string;
  readonly history: readonly string[];
  /** The shown history entry, and the draft to return to. */
  readonly recalled: { readonly index: number; readonly draft: string } | undefined;
  readonly menu: { readonly completion: Completion; readonly selected: number } | undefined;
  /** The last action: typing is undone in words, consecutive kills accumulate. */
  readonly last: 'typed' | 'killed' | 'other';
}

const MAX_UNDO = 200;
const MAX_HISTORY = 1000;

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

/** Replaces a range of text; undo restores it. */
export function replace(state: EditorState, start: number, end: number, text: string): EditorState {
  const changed = state.text.slice(0, start) + text + state.text.slice(end);
  return {
    ...state,
    text: changed,
    // The inserted text may have combined with the following character.
    cursor: graphemeBoundary(changed, start + text.length),
    undo: [...state.undo, { text: state.text, cursor: state.cursor }].slice(-MAX_UNDO),
    last: 'other',
  };
}

export function insert(state: EditorState, text: string): EditorState {
  return replace(state, state.cursor, state.cursor, text);
}

/** Replaces the whole input; undo restores it. */
export function setText(state: EditorState, text: string): EditorState {
  return { ...replace(state, 0, state.text.length, insertable(text)), recalled: undefined, menu: undefined };
}

export function moveTo(state: EditorState, cursor: number): EditorState {
  return { ...state, cursor, last: 'other' };
}

export function undo(state: EditorState): EditorState {
  const before = state.undo.at(-1);
  if (before === undefined) return state;
  return { ...state, text: before.text, cursor: before.cursor, undo: state.undo.slice(0, -1), last: 'other' };
}

/** Empties the input and adds its text to the history. */
export function clearInput(state: EditorState): EditorState {
  const { text, history } = state;
  const entries =
    text.trim() === '' || history.at(-1) === text ? history : [...history, text].slice(-MAX_HISTORY);
  return { ...newEditor(entries), folded: state.folded, killed: state.killed };
}

/** Inserts a value as one character that is shown as its label. */
export function fold(state: EditorState, folded: Folded): EditorState {
  if (state.folded.length > LAST_FOLD - FIRST_FOLD) return insert(state, folded.text);
  const character = String.fromCodePoint(FIRST_FOLD + state.folded.length);
  return { ...insert(state, character), folded: [...state.folded, folded] };
}

export function findFolded(character: string, folded: readonly Folded[]): Folded | undefined {
  const code = character.codePointAt(0) ?? 0;
  return code >= FIRST_FOLD ? folded[code - FIRST_FOLD] : undefined;
}

/** Returns the text to submit, and the attached files. */
export function submittedInput({ text, folded }: EditorState): {
  readonly text: string;
  readonly paths: readonly string[];
} {
  const found = Array.from(text.matchAll(FOLDS), ([character]) => findFolded(character, folded));
  return {
    text: text.replace(FOLDS, (character) => findFolded(character, folded)?.text ?? ''),
    paths: found.flatMap((each) => (each?.path === undefined ? [] : [each.path])),
  };
}

/** Makes untrusted text insertable: removes control characters and characters that represent folds. */
export function insertable(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/(?![\n\t])\p{Cc}/gu, '')
    .replace(FOLDS, '');
}

/** The last private-use plane: no font uses it, and segmenters treat each of its characters as one. */
const FIRST_FOLD = 0x100000;
const LAST_FOLD = 0x10fffd;
const FOLDS = /[\u{100000}-\u{10FFFD}]/gu;
