import { down, up } from './history.ts';
import { type Key } from '../keys/key.ts';
import { chosen, type Complete, completed, followed, selectedBy } from './menu.ts';
import * as motions from './motions.ts';
import type { Motion } from './motions.ts';
import { pasted, type Recognise } from './paste.ts';
import { cleared, type EditorState, insert, insertable, moveTo, replace, undone, unfolded } from './state.ts';

/** What the editor needs to know of the world around it. */
export interface EditorAround {
  /** The columns that the text has, as it is shown. */
  readonly width: number;
  readonly complete: Complete;
  readonly recognise: Recognise;
}

export type EditorEvent =
  | { readonly type: 'submit'; readonly text: string; readonly paths: readonly string[] }
  /** A key that means nothing to the editor: `escape`, `ctrl-c` in an empty input. */
  | { readonly type: 'chord'; readonly chord: string };

export interface Updated {
  readonly state: EditorState;
  readonly event: EditorEvent | undefined;
}

/** The editor after a key. */
export function updateEditor(state: EditorState, key: Key, around: EditorAround): Updated {
  switch (key.type) {
    case 'text':
      return quiet(followed(typed(state, insertable(key.text)), around.complete));
    case 'paste':
      return quiet(followed(pasted(state, key.text, around.recognise), around.complete));
    case 'chord':
      return (state.menu && inMenu(state, key.chord)) ?? pressed(state, key.chord, around);
  }
}

function inMenu(state: EditorState, chord: string): Updated | undefined {
  if (chord === 'tab' || chord === 'down') return quiet(selectedBy(state, 1));
  if (chord === 'shift-tab' || chord === 'up') return quiet(selectedBy(state, -1));
  if (chord === 'escape') return quiet({ ...state, menu: undefined });
  const next = chord === 'enter' ? chosen(state) : undefined;
  return next && quiet(next);
}

function pressed(state: EditorState, chord: string, around: EditorAround): Updated {
  const { width, complete } = around;
  const closed = { ...state, menu: undefined };
  const motion = MOTIONS[chord];
  if (motion !== undefined) return quiet(moveTo(closed, motion(state.text, state.cursor)));
  const deletion = DELETIONS[chord];
  if (deletion !== undefined && !(chord === 'ctrl-d' && state.text === ''))
    return quiet(followed(deleted(state, deletion), complete));
  const kill = KILLS[chord];
  if (kill !== undefined) return quiet(killed(closed, kill));
  switch (chord) {
    case 'enter':
      return state.text.slice(0, state.cursor).endsWith('\\') && state.cursor === state.text.length
        ? quiet(replace(closed, state.cursor - 1, state.cursor, '\n'))
        : submitted(closed);
    case 'shift-enter':
    case 'alt-enter':
    case 'ctrl-enter':
    case 'ctrl-j':
      return quiet(insert(closed, '\n'));
    case 'up':
    case 'ctrl-p':
      return quiet(up(closed, width));
    case 'down':
    case 'ctrl-n':
      return quiet(down(closed, width));
    case 'tab':
      return quiet(completed(state, complete));
    case 'ctrl-y':
      return quiet(insert(closed, state.killed));
    case 'ctrl-_':
    case 'ctrl-/':
    case 'ctrl-shift--':
      return quiet(undone(closed));
    case 'shift-space':
      return quiet(typed(state, ' '));
    case 'ctrl-c':
      if (state.text !== '') return quiet(cleared(closed));
  }
  return { state: closed, event: { type: 'chord', chord } };
}

function typed(state: EditorState, text: string): EditorState {
  const next = insert(state, text);
  // Letters typed in a row are undone together, up to the space before them.
  const joins = state.last === 'typed' && !/\s/.test(text);
  return { ...next, undo: joins ? state.undo : next.undo, last: 'typed' };
}

function deleted(state: EditorState, motion: Motion): EditorState {
  const other = motion(state.text, state.cursor);
  if (other === state.cursor) return state;
  return replace(state, Math.min(other, state.cursor), Math.max(other, state.cursor), '');
}

function killed(state: EditorState, motion: Motion): EditorState {
  const other = motion(state.text, state.cursor);
  if (other === state.cursor) return state;
  const backwards = other < state.cursor;
  const text = state.text.slice(Math.min(other, state.cursor), Math.max(other, state.cursor));
  const before = state.last === 'killed' ? state.killed : '';
  return { ...deleted(state, motion), killed: backwards ? text + before : before + text, last: 'killed' };
}

function submitted(state: EditorState): Updated {
  const { text, paths } = unfolded(state);
  if (text.trim() === '') return quiet(state);
  return { state: cleared(state), event: { type: 'submit', text, paths } };
}

function quiet(state: EditorState): Updated {
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
