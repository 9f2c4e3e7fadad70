import { expect, test } from 'vitest';
import { type TodoItem, todoTool } from '../../src/tools/index.ts';
import { invalidText, toolFixture, outputText } from './fixture.ts';

function listWith(...items: TodoItem[]) {
  let saved: readonly TodoItem[] = items;
  const tool = todoTool({
    get: () => saved,
    set: (next) => {
      saved = next;
    },
  });
  return { tool, saved: () => saved };
}

test('a list replaces the previous one', async () => {
  const { tool, saved } = listWith({ content: 'old', status: 'pending' });
  const items: TodoItem[] = [
    { content: 'read', status: 'completed' },
    { content: 'write', status: 'in_progress' },
    { content: 'test', status: 'pending' },
  ];
  expect(await toolFixture().call(tool, { items })).toEqual({
    summary: '1 of 3 steps completed',
    content: [{ type: 'text', text: '[x] read\n[>] write\n[ ] test' }],
    isError: false,
    details: { todos: items },
  });
  expect(saved()).toEqual(items);
});

test('only one step is in progress; others become pending', async () => {
  const { tool, saved } = listWith();
  const items = ['one', 'two', 'three'].map((content) => ({ content, status: 'in_progress' }));
  const output = await toolFixture().call(tool, { items });
  expect(outputText(output)).toBe(
    '[>] one\n[ ] two\n[ ] three\n[one step can be in_progress; 2 others became pending]',
  );
  expect(saved().map(({ status }) => status)).toEqual(['in_progress', 'pending', 'pending']);
});

test('a list can be emptied, and an unchanged list is reported as such', async () => {
  const { tool, saved } = listWith({ content: 'old', status: 'pending' });
  expect(outputText(await toolFixture().call(tool, { items: [{ content: 'old', status: 'pending' }] }))).toBe(
    '[ ] old\n[the list is unchanged]',
  );
  expect(outputText(await toolFixture().call(tool, { items: [] }))).toBe('The list is empty.');
  expect(saved()).toEqual([]);
});

test('an invalid status is rejected by name, and nothing changes', () => {
  const { tool } = listWith();
  expect(invalidText(tool, { items: [{ content: 'x', status: 'done' }] })).toContain(
    'items.0.status: must be one of pending, in_progress, completed, not "done"',
  );
  expect(tool.prepare({ items: [] }, '/')).toMatchObject({ access: [], title: 'todo: 0 steps' });
});
