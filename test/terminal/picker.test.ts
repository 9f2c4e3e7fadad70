import { describe, expect, it } from 'vitest';
import {
  chord,
  type Key,
  lineText,
  lineWidth,
  newPicker,
  type PickerState,
  renderPicker,
  updatePicker,
} from '../../src/terminal/index.ts';

const ITEMS = ['alpha', 'beta', 'gamma', 'delta'].map((name, index) => ({
  value: `${index}`,
  label: name,
  detail: `about ${name}`,
}));

/** Presses keys: plain text, with keys in angle brackets. */
function after(script: string, from: PickerState = newPicker('Letters', ITEMS)) {
  let state = from;
  let event: ReturnType<typeof updatePicker>['event'];
  for (const part of script.split(/(<[^>]+>)/).filter((each) => each !== '')) {
    const name = /^<([^>]+)>$/.exec(part)?.[1];
    const key: Key = name === undefined ? { type: 'text', text: part } : chord(name);
    ({ state, event } = updatePicker(state, key, 20));
  }
  return { state, event };
}

const shown = (state: PickerState, width = 60, rows = 20) =>
  renderPicker(state, { width, rows }).lines.map((line) => lineText(line).trimEnd());

describe('a list with a filter', () => {
  it('shows the items, the selected one, and the keys', () => {
    expect(shown(newPicker('Letters', ITEMS, '2'))).toEqual([
      'Letters 4 · Enter selects · Esc closes',
      '/ type to filter',
      '  alpha  about alpha',
      '  beta   about beta',
      '❯ gamma  about gamma',
      '  delta  about delta',
    ]);
  });

  it('keeps the items that contain every word, in their order', () => {
    expect(shown(after('TA about').state)).toEqual([
      'Letters 2 of 4 · Enter selects · Esc closes',
      '/ TA about',
      '❯ beta   about beta',
      '  delta  about delta',
    ]);
    expect(shown(after('omega').state).at(-1)).toBe('  nothing matches');
  });

  it.each([
    ['<enter>', '0'],
    ['<down><enter>', '1'],
    ['<up><enter>', '3'],
    ['<ctrl-r><ctrl-n><ctrl-p><tab>', '1'],
    ['<page-down><enter>', '3'],
    ['ta<down><enter>', '3'],
    ['omega<ctrl-w>gam<enter>', '2'],
  ])('%s chooses item %s', (script, value) => {
    expect(after(script).event).toEqual({ type: 'picked', value });
  });

  it('is closed by Esc and Ctrl-C, and stays open on Enter if nothing matches', () => {
    expect(after('<escape>').event).toEqual({ type: 'closed' });
    expect(after('be<ctrl-c>').event).toEqual({ type: 'closed' });
    expect(after('omega<enter>').event).toBeUndefined();
  });

  it('fits a small terminal and scrolls to the selected item', () => {
    const items = Array.from({ length: 50 }, (_, index) => ({
      value: `${index}`,
      label: `item ${index} `.repeat(9),
      detail: '日本語'.repeat(20),
    }));
    const state = newPicker('Many', items, '30');
    const { lines } = renderPicker(state, { width: 20, rows: 10 });
    expect(lines).toHaveLength(6);
    expect(lines.map(lineText).some((text) => text.startsWith('❯ item 30'))).toBe(true);
    expect(Math.max(...lines.map(lineWidth))).toBeLessThanOrEqual(20);
  });
});
