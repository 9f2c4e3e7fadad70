import { BOLD, DIM, type Line, span, widthOf } from '../style.ts';
import { fitLine } from '../wrap.ts';
import { type Completion, type EditorState, replace } from './state.ts';

/** What could complete the input at the cursor. */
export type Complete = (text: string, cursor: number) => Completion | undefined;

/** Tab: the only choice at once, else what all choices share, and the menu. */
export function completed(state: EditorState, complete: Complete): EditorState {
  const completion = complete(state.text, state.cursor);
  const [first, ...others] = completion?.choices ?? [];
  if (completion === undefined || first === undefined) return state;
  if (others.length === 0) return { ...put(state, completion, first.insert), menu: undefined };
  const start = sharedStart(completion.choices.map((choice) => choice.insert));
  const typed = state.text.slice(completion.from, state.cursor);
  const longer = start.length > typed.length ? put(state, completion, start) : state;
  return { ...longer, menu: { completion, selected: 0 } };
}

/** The menu after the text has changed: with new choices, opened when the choices ask for it, or closed. */
export function followed(state: EditorState, complete: Complete): EditorState {
  const completion = complete(state.text, state.cursor);
  const wanted =
    completion !== undefined &&
    completion.choices.length > 0 &&
    (state.menu !== undefined || completion.eager);
  return { ...state, menu: wanted ? { completion, selected: 0 } : undefined };
}

export function selectedBy(state: EditorState, change: number): EditorState {
  if (state.menu === undefined) return state;
  const { completion, selected } = state.menu;
  const count = completion.choices.length;
  return { ...state, menu: { completion, selected: (selected + change + count) % count } };
}

/** Takes what the menu points at; undefined when it is what the text already says. */
export function chosen(state: EditorState): EditorState | undefined {
  if (state.menu === undefined) return undefined;
  const { completion, selected } = state.menu;
  const insert = completion.choices[selected]?.insert ?? '';
  if (state.text.slice(completion.from, state.cursor) === insert.trimEnd()) return undefined;
  return { ...put(state, completion, insert), menu: undefined };
}

/** The menu as lines, the part around what is selected when there are more than fit. */
export function menuLines({ menu }: Pick<EditorState, 'menu'>, width: number, most: number): Line[] {
  if (menu === undefined) return [];
  const { completion, selected } = menu;
  const { choices } = completion;
  const from = Math.max(0, Math.min(selected - Math.floor(most / 2), choices.length - most));
  const shown = choices.slice(from, from + most);
  const labels = Math.min(LABEL_WIDTH, Math.max(...shown.map(({ label }) => widthOf([span(label)]))));
  const lines = shown.map(({ label, detail }, index): Line => {
    const isSelected = from + index === selected;
    const name = fitLine([span(label, isSelected ? { ...BOLD, colour: 'cyan' } : {})], labels);
    const space = span(' '.repeat(labels - widthOf(name) + 2));
    return fitLine([span(isSelected ? '❯ ' : '  '), ...name, space, span(detail, DIM)], width);
  });
  const more = choices.length - shown.length;
  return more > 0 ? [...lines, fitLine([span(`  … ${more} more`, DIM)], width)] : lines;
}

const LABEL_WIDTH = 32;

function put(state: EditorState, { from }: Completion, text: string): EditorState {
  return replace(state, from, state.cursor, text);
}

function sharedStart(texts: readonly string[]): string {
  const [first = '', ...others] = texts;
  let length = first.length;
  for (const other of others) {
    while (!other.startsWith(first.slice(0, length))) length -= 1;
  }
  return first.slice(0, length);
}
