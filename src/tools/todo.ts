import { shape } from '../base/index.ts';
import { counted } from './text/shorten.ts';
import { defineTool, type Tool, type ToolOutput, textOutput } from './tool.ts';

export const TODO_STATUSES = ['pending', 'in_progress', 'completed'] as const;

/** One step of a plan. */
export interface TodoItem {
  readonly content: string;
  readonly status: (typeof TODO_STATUSES)[number];
}

/** Where a list is kept; it outlives the call. */
export interface TodoStore {
  readonly get: () => readonly TodoItem[];
  readonly set: (items: readonly TodoItem[]) => void;
}

const input = shape.fields(
  {
    items: shape.described(
      shape.listOf(
        shape.fields(
          {
            content: shape.described(shape.text(), 'The step, in one line.'),
            status: shape.described(shape.choice(TODO_STATUSES), 'At most one step is in_progress.'),
          },
          {},
        ),
      ),
      'The whole list in order; it replaces the one before.',
    ),
  },
  {},
);

/** The tool for the list that a store keeps. */
export function todoTool(store: TodoStore): Tool {
  return defineTool({
    name: 'todo',
    description:
      'Keeps the list of steps for a task with several of them, for yourself and for the user to see. Each call replaces the whole list: send every step with its status, mark one as in_progress before you work on it and as completed as soon as it is done.',
    input,
    parallel: false,
    access: () => [],
    title: ({ items }) => `todo: ${counted(items.length, 'step')}`,
    run: async ({ items }) => {
      const before = store.get();
      const next = withOneInProgress(items);
      store.set(next);
      return outputOf(before, next, items);
    },
  });
}

/** The first stays; the others wait. */
function withOneInProgress(items: readonly TodoItem[]): readonly TodoItem[] {
  const current = items.findIndex(({ status }) => status === 'in_progress');
  return items.map(({ content, status }, index) => ({
    content,
    status: status === 'in_progress' && index !== current ? 'pending' : status,
  }));
}

function outputOf(
  before: readonly TodoItem[],
  now: readonly TodoItem[],
  asked: readonly TodoItem[],
): ToolOutput {
  const completed = now.filter(({ status }) => status === 'completed').length;
  const waiting = now.filter(({ status }, index) => status !== asked[index]?.status).length;
  const notes = [
    ...(waiting === 0 ? [] : [`[one step can be in_progress; ${counted(waiting, 'other')} became pending]`]),
    ...(isSame(before, now) ? ['[the list is as it was]'] : []),
  ];
  const lines = now.map(({ content, status }) => `${SIGNS[status]} ${content}`);
  const text = [...(lines.length === 0 ? ['The list is empty.'] : lines), ...notes].join('\n');
  return textOutput(`${completed} of ${counted(now.length, 'step')} completed`, text, { todos: now });
}

function isSame(one: readonly TodoItem[], other: readonly TodoItem[]): boolean {
  return (
    one.length === other.length &&
    one.every(
      ({ content, status }, index) => content === other[index]?.content && status === other[index].status,
    )
  );
}

const SIGNS: Readonly<Record<TodoItem['status'], string>> = {
  pending: '[ ]',
  in_progress: '[>]',
  completed: '[x]',
};
