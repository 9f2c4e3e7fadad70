import { CYAN, DIM, type Line, span, lineWidth } from '../style.ts';
import type { LiveArea, CursorPosition } from '../screen/live.ts';
import { cursorPosition, type LayoutRow, layoutRows } from './layout.ts';
import type { EditorState } from './state.ts';

export interface EditorStyle {
  readonly width: number;
  /** Maximum number of rows; more rows scroll, with the cursor always visible. */
  readonly rows: number;
  /** Printed before the first line, such as `> `; other lines are indented by its width. */
  readonly prompt: string;
  /** Shown dimmed while the input is empty. */
  readonly placeholder: string;
}

/** Returns the columns available for text next to the prompt: the width for `updateEditor`. */
export function textWidth({ width, prompt }: Pick<EditorStyle, 'width' | 'prompt'>): number {
  return Math.max(2, width - lineWidth([span(prompt)]));
}

/** Renders the input as lines with the cursor position. */
export function renderEditor(
  state: EditorState,
  style: EditorStyle,
): LiveArea & { readonly cursor: CursorPosition } {
  const rows = layoutRows(state, textWidth(style));
  const { row, column } = cursorPosition(rows, state.cursor);
  const indent = lineWidth([span(style.prompt)]);
  const maxRows = Math.max(1, style.rows);
  const from = Math.max(0, Math.min(row - Math.floor(maxRows / 2), rows.length - maxRows));
  const lines = rows.slice(from, from + maxRows).map((each, index): Line => {
    const lead = from + index === 0 ? span(style.prompt, CYAN) : span(' '.repeat(indent));
    return [lead, ...rowSpans(each)];
  });
  if (state.text === '' && style.placeholder !== '')
    lines[0] = [span(style.prompt, CYAN), span(style.placeholder, DIM)];
  return { lines, cursor: { row: row - from, column: indent + column } };
}

function rowSpans({ cells }: LayoutRow): Line {
  const text = cells.map(({ shown }) => shown).join('');
  if (!cells.some(({ isFolded }) => isFolded)) return text === '' ? [] : [span(text)];
  return cells.map(({ shown, isFolded }) => span(shown, isFolded ? CYAN : {}));
}
