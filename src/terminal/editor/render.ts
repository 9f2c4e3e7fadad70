import { CYAN, DIM, type Line, span, widthOf } from '../style.ts';
import type { Live, CursorPosition } from '../screen/live.ts';
import { placeOf, type Row, rowsOf } from './layout.ts';
import type { EditorState } from './state.ts';

export interface EditorStyle {
  readonly width: number;
  /** How many rows it may take; more are scrolled, the cursor always in sight. */
  readonly rows: number;
  /** Before the first line, as in `> `; the others are indented as far. */
  readonly prompt: string;
  /** Shown dim while nothing is written. */
  readonly placeholder: string;
}

/** The columns that are left for the text beside the prompt: what `updateEditor` takes as its width. */
export function textWidth({ width, prompt }: Pick<EditorStyle, 'width' | 'prompt'>): number {
  return Math.max(2, width - widthOf([span(prompt)]));
}

/** The input as lines, with the cursor's place. */
export function renderEditor(
  state: EditorState,
  style: EditorStyle,
): Live & { readonly cursor: CursorPosition } {
  const rows = rowsOf(state, textWidth(style));
  const { row, column } = placeOf(rows, state.cursor);
  const indent = widthOf([span(style.prompt)]);
  const most = Math.max(1, style.rows);
  const from = Math.max(0, Math.min(row - Math.floor(most / 2), rows.length - most));
  const lines = rows.slice(from, from + most).map((each, index): Line => {
    const lead = from + index === 0 ? span(style.prompt, CYAN) : span(' '.repeat(indent));
    return [lead, ...rowSpans(each)];
  });
  if (state.text === '' && style.placeholder !== '')
    lines[0] = [span(style.prompt, CYAN), span(style.placeholder, DIM)];
  return { lines, cursor: { row: row - from, column: indent + column } };
}

function rowSpans({ cells }: Row): Line {
  const text = cells.map(({ shown }) => shown).join('');
  if (!cells.some(({ isFolded }) => isFolded)) return text === '' ? [] : [span(text)];
  return cells.map(({ shown, isFolded }) => span(shown, isFolded ? CYAN : {}));
}
