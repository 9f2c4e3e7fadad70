import { BOLD, DIM, type Line, span, lineWidth } from '../style.ts';
import { fitLine } from '../wrap.ts';
import { type Completion, type EditorState, replace } from './state.ts';

/** Returns the completions of the input at the cursor. */
export type Complete = (text: string, cursor: number) => Completion | undefined;

/** Handles Tab: inserts the only choice, otherwise the common prefix, and opens the menu. */
export function completeInput(state: EditorState, complete: Complete): EditorState {
  const completion = complete(state.text, state.cursor);
  const [first, ...others] = completion?.choices ?? [];
  if (completion === undefined || first === undefined) return state;
  if (others.length === 0) return acceptChoice({ ...state, menu: { completion, selected: 0 } }, complete);
  const start = commonPrefix(completion.choices.map((choice) => choice.insert));
  const typed = state.text.slice(completion.from, state.cursor);
  const longer = start.length > typed.length ? insertChoice(state, completion, start) : state;
  return { ...longer, menu: { completion, selected: 0 } };
}

/**
 * Updates the menu after the text has changed: with new choices, opened if the completion requests it, or
 * closed.
 */
export function updateMenu(state: EditorState, complete: Complete): EditorState {
  const completion = complete(state.text, state.cursor);
  const shouldOpen =
    completion !== undefined &&
    completion.choices.length > 0 &&
    (state.menu !== undefined || completion.eager);
  return { ...state, menu: shouldOpen ? { completion, selected: 0 } : undefined };
}

export function moveSelection(state: EditorState, change: number): EditorState {
  if (state.menu === undefined) return state;
  const { completion, selected } = state.menu;
  const count = completion.choices.length;
  return { ...state, menu: { completion, selected: (selected + change + count) % count } };
}

/** Inserts the selected choice; undefined if the text already contains it. */
export function applyChoice(state: EditorState): EditorState | undefined {
  if (state.menu === undefined) return undefined;
  const { completion, selected } = state.menu;
  const insert = completion.choices[selected]?.insert ?? '';
  if (state.text.slice(completion.from, state.cursor) === insert.trimEnd()) return undefined;
  return { ...insertChoice(state, completion, insert), menu: undefined };
}

/** Inserts the selected choice and offers what can follow it, such as the files of a directory. */
export function acceptChoice(state: EditorState, complete: Complete): EditorState {
  if (state.menu === undefined) return state;
  const { completion, selected } = state.menu;
  const chosen = completion.choices[selected]?.insert ?? '';
  const accepted = { ...insertChoice(state, completion, chosen), menu: undefined };
  const next = updateMenu(accepted, complete);
  const typed = accepted.text.slice(next.menu?.completion.from, accepted.cursor);
  // A choice that is already complete needs no menu.
  const isComplete = next.menu?.completion.choices.some(({ insert }) => insert.trimEnd() === typed) === true;
  return isComplete ? accepted : next;
}

/** Renders the menu as lines, scrolled around the selection if there are more than fit. */
export function menuLines({ menu }: Pick<EditorState, 'menu'>, width: number, maxRows: number): Line[] {
  if (menu === undefined) return [];
  const { completion, selected } = menu;
  const { choices } = completion;
  const from = Math.max(0, Math.min(selected - Math.floor(maxRows / 2), choices.length - maxRows));
  const visible = choices.slice(from, from + maxRows);
  const widest = (texts: readonly string[]) => Math.max(...texts.map((text) => lineWidth([span(text)])));
  const left = width - MARGINS - widest(visible.map(({ detail }) => detail));
  const labels = Math.min(Math.max(LABEL_WIDTH, left), widest(visible.map(({ label }) => label)));
  const lines = visible.map(({ label, detail }, index): Line => {
    const isSelected = from + index === selected;
    const name = fitLine([span(label, isSelected ? { ...BOLD, colour: 'cyan' } : {})], labels);
    const space = span(' '.repeat(labels - lineWidth(name) + 2));
    return fitLine([span(isSelected ? '❯ ' : '  '), ...name, space, span(detail, DIM)], width);
  });
  const more = choices.length - visible.length;
  return more > 0 ? [...lines, fitLine([span(`  … ${more} more`, DIM)], width)] : lines;
}

/** Labels can be so wide at the expense of details, and wider if the details leave space. */
const LABEL_WIDTH = 32;
/** Before the label and before the details. */
const MARGINS = 4;

function insertChoice(state: EditorState, { from }: Completion, text: string): EditorState {
  return replace(state, from, state.cursor, text);
}

function commonPrefix(texts: readonly string[]): string {
  const [first = '', ...others] = texts;
  let length = first.length;
  for (const other of others) {
    while (!other.startsWith(first.slice(0, length))) length -= 1;
  }
  return first.slice(0, length);
}
