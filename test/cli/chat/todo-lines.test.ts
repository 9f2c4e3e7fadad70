import { describe, expect, it } from 'vitest';
import { todoLines } from '../../../src/cli/chat/screen/todo-lines.ts';
import { displayWidth, lineText } from '../../../src/terminal/index.ts';
import type { TodoItem } from '../../../src/tools/index.ts';

/** One todo for each letter: done, in progress, or pending. */
function todos(letters: string): readonly TodoItem[] {
  const statuses = { d: 'completed', i: 'in_progress', p: 'pending' } as const;
  return letters.split('').map((letter, index) => ({
    content: `step ${index + 1}`,
    status: letter === 'd' ? statuses.d : letter === 'i' ? statuses.i : statuses.p,
  }));
}

const shown = (letters: string, rows: number, columns = 80) =>
  todoLines(todos(letters), { columns, rows }).map(lineText);

describe('the todos above the input', () => {
  it('show all steps if there is space', () => {
    expect(shown('dip', 24)).toEqual(['todos 1/3', '  ✓ step 1', '  ▸ step 2', '  ○ step 3']);
  });

  it('show the steps around the current one, and how many there are', () => {
    expect(shown('dddddipppp', 24)).toEqual([
      'todos 5/10',
      '  ✓ step 5',
      '  ▸ step 6',
      '  ○ step 7',
      '  ○ step 8',
      '  … 6 more: /todos',
    ]);
    expect(shown('ddddddddi', 24).slice(1, -1)).toEqual([
      '  ✓ step 6',
      '  ✓ step 7',
      '  ✓ step 8',
      '  ▸ step 9',
    ]);
  });

  it('are one line on a small screen', () => {
    expect(shown('dip', 10)).toEqual(['todos 1/3: step 2']);
    expect(shown('dpp', 0)).toEqual(['todos 1/3: step 2']);
  });

  it('take at most eight rows of a large screen', () => {
    expect(shown('i'.padEnd(40, 'p'), 100)).toHaveLength(8);
  });

  it.each(['', 'ddd'])('are not shown without an open step: %j', (letters) => {
    expect(shown(letters, 24)).toEqual([]);
  });

  it('fit the width, without control characters', () => {
    const items = [{ content: `日本語👩‍👩‍👧\u001b[2J${'x'.repeat(200)}`, status: 'pending' }] as const;
    for (const rows of [8, 40])
      for (const line of todoLines(items, { columns: 30, rows }).map(lineText)) {
        expect(displayWidth(line)).toBeLessThanOrEqual(30);
        expect(line).not.toContain('\u001b');
      }
  });
});
