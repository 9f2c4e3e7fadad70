import { type EditorState, newEditor } from './state.ts';
import { updateEditor } from './update.ts';
import type { Key } from '../keys/key.ts';
import { BOLD, DIM, type Line, span, lineWidth } from '../style.ts';
import { type LiveArea, stackLive, staticLive } from '../screen/live.ts';
import { renderEditor, textWidth } from './render.ts';
import { fitLine } from '../wrap.ts';

export interface PickerItem {
  /** What choosing it returns. */
  readonly value: string;
  readonly label: string;
  readonly detail: string;
}

/** A list of items with a filter: each key produces the next state. */
export interface PickerState {
  readonly title: string;
  readonly items: readonly PickerItem[];
  readonly filter: EditorState;
  /** The items that match the filter. */
  readonly found: readonly PickerItem[];
  readonly selected: number;
}

export type PickerEvent = { readonly type: 'picked'; readonly value: string } | { readonly type: 'closed' };

/** Opens a list; the item with the value `current` is selected. */
export function newPicker(title: string, items: readonly PickerItem[], current?: string): PickerState {
  const selected = Math.max(
    0,
    items.findIndex(({ value }) => value === current),
  );
  return { title, items, filter: newEditor(), found: items, selected };
}

/** Returns the list after a key, and the choice if the key ended it. */
export function updatePicker(
  state: PickerState,
  key: Key,
  width: number,
): { readonly state: PickerState; readonly event: PickerEvent | undefined } {
  const pressed = key.type === 'chord' ? key.chord : '';
  const { found, selected } = state;
  const steps = STEPS[pressed];
  if (steps !== undefined) return open({ ...state, selected: moved(selected, steps, found.length) });
  if (CLOSING.has(pressed)) return { state, event: { type: 'closed' } };
  if (pressed === 'enter' || pressed === 'tab') {
    const picked = found[selected];
    return picked === undefined ? open(state) : { state, event: { type: 'picked', value: picked.value } };
  }
  const { state: filter } = updateEditor(state.filter, oneLine(key), {
    width,
    complete: () => undefined,
    recognise: () => undefined,
  });
  if (filter.text === state.filter.text) return open({ ...state, filter });
  return open({ ...state, filter, found: matching(state.items, filter.text), selected: 0 });
}

/** Renders the title, the filter, and the items around the selected one. */
export function renderPicker(
  { title, items, filter, found, selected }: PickerState,
  { width, rows }: { readonly width: number; readonly rows: number },
): LiveArea {
  const most = Math.max(1, Math.min(MOST_ROWS, rows - 6));
  const from = Math.max(0, Math.min(selected - Math.floor(most / 2), found.length - most));
  const visible = found.slice(from, from + most);
  const labels = Math.max(0, ...visible.map(({ label }) => lineWidth([span(label)])));
  const labelWidth = Math.min(labels, Math.max(LABEL_WIDTH, Math.floor(width / 2)));
  const lines = visible.map(({ label, detail }, index): Line => {
    const isSelected = from + index === selected;
    const name = fitLine([span(label, isSelected ? { ...BOLD, colour: 'cyan' } : {})], labelWidth);
    const space = span(' '.repeat(labelWidth - lineWidth(name) + 2));
    return fitLine([span(isSelected ? '❯ ' : '  '), ...name, space, span(detail, DIM)], width);
  });
  const count = found.length === items.length ? `${items.length}` : `${found.length} of ${items.length}`;
  const heading = fitLine([span(title, BOLD), span(` ${count} · Enter selects · Esc closes`, DIM)], width);
  const input = renderEditor(filter, { width, rows: 1, prompt: PROMPT, placeholder: 'type to filter' });
  return stackLive([
    staticLive([heading]),
    input,
    staticLive(found.length === 0 ? [[span('  nothing matches', DIM)]] : lines),
  ]);
}

/** The columns of the filter, for `updatePicker`. */
export function pickerWidth(width: number): number {
  return textWidth({ width, prompt: PROMPT });
}

const PROMPT = '/ ';
const MOST_ROWS = 12;
const LABEL_WIDTH = 32;

const STEPS: Readonly<Record<string, number>> = {
  up: -1,
  'ctrl-p': -1,
  'shift-tab': -1,
  down: 1,
  'ctrl-n': 1,
  // Repeating the key that opened a search of the history continues it, as in a shell.
  'ctrl-r': 1,
  'page-up': -10,
  'page-down': 10,
};

const CLOSING: ReadonlySet<string> = new Set(['escape', 'ctrl-c', 'ctrl-d', 'ctrl-g']);

/** One step past an end continues at the other end; a page stops there. */
function moved(selected: number, steps: number, count: number): number {
  if (count === 0) return 0;
  const next = selected + steps;
  if (Math.abs(steps) === 1) return (next + count) % count;
  return Math.max(0, Math.min(count - 1, next));
}

/** The items that contain every word of the filter, in their order. */
function matching(items: readonly PickerItem[], filter: string): readonly PickerItem[] {
  const words = filter.toLowerCase().split(/\s+/);
  return items.filter(({ label, detail }) => {
    const text = `${label} ${detail}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function oneLine(key: Key): Key {
  return key.type === 'chord' ? key : { type: 'text', text: key.text.replace(/\s+/g, ' ') };
}

function open(state: PickerState): { readonly state: PickerState; readonly event: undefined } {
  return { state, event: undefined };
}
