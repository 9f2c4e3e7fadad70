import { offsetAt, cursorPosition, layoutRows } from './layout.ts';
import { type EditorState, moveTo } from './state.ts';

/** Moves one row up, or from the first row to the previous history entry. */
export function up(state: EditorState, width: number): EditorState {
  const rows = layoutRows(state, width);
  const { row, column } = cursorPosition(rows, state.cursor);
  if (row > 0) return moveTo(state, offsetAt(rows, { row: row - 1, column }));
  return older(state);
}

export function down(state: EditorState, width: number): EditorState {
  const rows = layoutRows(state, width);
  const { row, column } = cursorPosition(rows, state.cursor);
  if (row < rows.length - 1) return moveTo(state, offsetAt(rows, { row: row + 1, column }));
  return newer(state);
}

function older(state: EditorState): EditorState {
  const index = (state.recalled?.index ?? state.history.length) - 1;
  const text = state.history[index];
  if (text === undefined) return state;
  return showEntry(state, text, { index, draft: state.recalled?.draft ?? state.text });
}

function newer(state: EditorState): EditorState {
  if (state.recalled === undefined) return state;
  const { index, draft } = state.recalled;
  const text = state.history[index + 1];
  if (text === undefined) return showEntry(state, draft, undefined);
  return showEntry(state, text, { index: index + 1, draft });
}

function showEntry(state: EditorState, text: string, recalled: EditorState['recalled']): EditorState {
  return { ...state, text, cursor: text.length, recalled, undo: [], last: 'other' };
}
