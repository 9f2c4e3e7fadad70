import { down, up } from './history.ts';
import { type Key } from '../keys/key.ts';
import {
  acceptChoice,
  applyChoice,
  type Complete,
  completeInput,
  updateMenu,
  moveSelection,
} from './menu.ts';
import * as motions from './motions.ts';
import type { Motion } from './motions.ts';
import { insertPaste, type RecognisePath } from './paste.ts';
import {
  clearInput,
  type EditorState,
  insert,
  insertable,
  moveTo,
  replace,
  undo,
  submittedInput,
} from './state.ts';

/** The context that the editor needs. */
export interface EditorContext {
  /** The columns available for the text. */
  readonly width: number;
  readonly complete: Complete;
  readonly recognise: RecognisePath;
}

export type EditorEvent =
  | { readonly type: 'submit'; readonly text: string; readonly paths: readonly string[] }
  /** A key that the editor does not use: `escape`, or `ctrl-c` in an empty input. */
  | { readonly type: 'chord'; readonly chord: string };

export interface EditorUpdate {
  readonly state: EditorState;
  readonly event: EditorEvent | undefined;
}

/** Returns the editor after a key. */
export function updateEditor(state: EditorState, key: Key, context: EditorContext): EditorUpdate {
  switch (key.type) {
    case 'text':
      return withoutEvent(updateMenu(typeText(state, insertable(key.text)), context.complete));
    case 'paste':
      return withoutEvent(updateMenu(insertPaste(state, key.text, context.recognise), context.complete));
    case 'chord':
      return (state.menu && updateInMenu(state, key.chord, context)) ?? pressKey(state, key.chord, context);
  }
}

function updateInMenu(
  state: EditorState,
  chord: string,
  { complete }: EditorContext,
): EditorUpdate | undefined {
  if (chord === 'tab') return withoutEvent(acceptChoice(state, complete));
  if (chord === 'down' || chord === 'ctrl-n') return withoutEvent(moveSelection(state, 1));
  if (chord === 'shift-tab' || chord === 'up' || chord === 'ctrl-p')
    return withoutEvent(moveSelection(state, -1));
  if (chord === 'escape') return withoutEvent({ ...state, menu: undefined });
  const next = chord === 'enter' ? applyChoice(state) : undefined;
  return next && withoutEvent(next);
}

function pressKey(state: EditorState, chord: string, context: EditorContext): EditorUpdate {
  const { width, complete } = context;
  const closed = { ...state, menu: undefined };
  const motion = MOTIONS[chord];
  if (motion !== undefined) return withoutEvent(moveTo(closed, motion(state.text, state.cursor)));
  const deletion = DELETIONS[chord];
  if (deletion !== undefined && !(chord === 'ctrl-d' && state.text === ''))
    return withoutEvent(updateMenu(deleteRange(state, deletion), complete));
  const kill = KILLS[chord];
  if (kill !== undefined) return withoutEvent(killRange(closed, kill));
  switch (chord) {
    case 'enter':
      return state.text.slice(0, state.cursor).endsWith('\\') && state.cursor === state.text.length
        ? withoutEvent(replace(closed, state.cursor - 1, state.cursor, '\n'))
        : submit(closed);
    case 'shift-enter':
    case 'alt-enter':
    case 'ctrl-enter':
    case 'ctrl-j':
      return withoutEvent(insert(closed, '\n'));
    case 'up':
    case 'ctrl-p':
      return withoutEvent(up(closed, width));
    case 'down':
    case 'ctrl-n':
      return withoutEvent(down(closed, width));
    case 'tab':
      return withoutEvent(completeInput(state, complete));
    case 'ctrl-y':
      return withoutEvent(insert(closed, state.killed));
    case 'ctrl-_':
    case 'ctrl-/':
    case 'ctrl-shift--':
      return withoutEvent(undo(closed));
    case 'shift-space':
      return withoutEvent(typeText(state, ' '));
    case 'ctrl-c':
      if (state.text !== '') return withoutEvent(clearInput(closed));
  }
  return { state: closed, event: { type: 'chord', chord } };
}

function typeText(state: EditorState, text: string): EditorState {
  const next = insert(state, text);
  // Consecutive letters are undone together, up to the preceding space.
  const isSameWord = state.last === 'typed' && !/\s/.test(text);
  return { ...next, undo: isSameWord ? state.undo : next.undo, last: 'typed' };
}

function deleteRange(state: EditorState, motion: Motion): EditorState {
  const target = motion(state.text, state.cursor);
  if (target === state.cursor) return state;
  return replace(state, Math.min(target, state.cursor), Math.max(target, state.cursor), '');
}

function killRange(state: EditorState, motion: Motion): EditorState {
  const target = motion(state.text, state.cursor);
  if (target === state.cursor) return state;
  const backwards = target < state.cursor;
  const text = state.text.slice(Math.min(target, state.cursor), Math.max(target, state.cursor));
  const before = state.last === 'killed' ? state.killed : '';
  return { ...deleteRange(state, motion), killed: backwards ? text + before : before + text, last: 'killed' };
}

function submit(state: EditorState): EditorUpdate {
  const { text, paths } = submittedInput(state);
  if (text.trim() === '') return withoutEvent(state);
  return { state: clearInput(state), event: { type: 'submit', text, paths } };
}

function withoutEvent(state: EditorState): EditorUpdate {
  return { state, event: undefined };
}

const MOTIONS: Readonly<Record<string, Motion>> = {
  left: motions.left,
  'ctrl-b': motions.left,
  right: motions.right,
  'ctrl-f': motions.right,
  home: motions.lineStart,
  'ctrl-a': motions.lineStart,
  end: motions.lineEnd,
  'ctrl-e': motions.lineEnd,
  'ctrl-left': motions.wordLeft,
  'alt-left': motions.wordLeft,
  'alt-b': motions.wordLeft,
  'ctrl-right': motions.wordRight,
  'alt-right': motions.wordRight,
  'alt-f': motions.wordRight,
  'ctrl-home': () => 0,
  'alt-<': () => 0,
  'ctrl-end': (text) => text.length,
  'alt->': (text) => text.length,
};

const DELETIONS: Readonly<Record<string, Motion>> = {
  backspace: motions.left,
  'ctrl-h': motions.left,
  'shift-backspace': motions.left,
  delete: motions.right,
  'ctrl-d': motions.right,
};

const KILLS: Readonly<Record<string, Motion>> = {
  'ctrl-w': motions.bigWordLeft,
  'alt-backspace': motions.wordLeft,
  'ctrl-backspace': motions.wordLeft,
  'alt-d': motions.wordRight,
  'ctrl-delete': motions.wordRight,
  'alt-delete': motions.wordRight,
  'ctrl-k': motions.lineEndOrBreak,
  'ctrl-u': motions.lineStartOrBreak,
};
