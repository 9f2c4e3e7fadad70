import { shape } from '../base/index.ts';
import { formatCount } from './text/shorten.ts';
import { defineTool, type Tool, type ToolOutput, textOutput } from './tool.ts';

export const TODO_STATUSES = ['pending', 'in_progress', 'completed'] as const;

/** One step of a plan. */
export interface TodoItem {
  readonly content: string;
  readonly status: (typeof TODO_STATUSES)[number];
}

/** Stores a list across calls. */
export interface TodoStore {
  readonly get: () => readonly TodoItem[];
  readonly set: (items: readonly TodoItem[]) => void;
}

const input = shape.fields(
  {
    items: shape.withDescription(
      shape.listOf(
        shape.fields(
          {
            content: shape.withDescription(shape.text(), 'The step, in one line.'),
            status: shape.withDescription(shape.choice(TODO_STATUSES), 'At most one step is in_progress.'),
          },
          {},
        ),
      ),
      'The whole list in order; it replaces the previous one.',
    ),
  },
  {},
);

/** Creates the tool for the list in a store. */
export function todoTool(store: TodoStore): Tool {
  return defineTool({
    name: 'todo',
    description:
      'Keeps the list of steps for a task with several of them, for yourself and for the user to see. Each call replaces the whole list: send every step with its status, mark one as in_progress before you work on it and as completed as soon as it is done.',
    input,
    parallel: false,
    access: () => [],
    title: ({ items }) => `todo: ${formatCount(items.length, 'step')}`,
    run: async ({ items }) => {
      const before = store.get();
      const updated = withOneInProgress(items);
      store.set(updated);
      return toOutput(before, updated, items);
    },
  });
}

/** The first stays in progress; the others become pending. */
function withOneInProgress(items: readonly TodoItem[]): readonly TodoItem[] {
  const current = items.findIndex(({ status }) => status === 'in_progress');
  return items.map(({ content, status }, index) => ({
    content,
    status: status === 'in_progress' && index !== current ? 'pending' : status,
  }));
}

function toOutput(
  before: readonly TodoItem[],
  current: readonly TodoItem[],
  requested: readonly TodoItem[],
): ToolOutput {
  const completed = current.filter(({ status }) => status === 'completed').length;
  const waiting = current.filter(({ status }, index) => status !== requested[index]?.status).length;
  const notes = [
    ...(waiting === 0
      ? []
      : [`[one step can be in_progress; ${formatCount(waiting, 'other')} became pending]`]),
    ...(isSame(before, current) ? ['[the list is unchanged]'] : []),
  ];
  const lines = current.map(({ content, status }) => `${SIGNS[status]} ${content}`);
  const text = [...(lines.length === 0 ? ['The list is empty.'] : lines), ...notes].join('\n');
  return textOutput(`${completed} of ${formatCount(current.length, 'step')} completed`, text, {
    todos: current,
  });
}

function isSame(left: readonly TodoItem[], right: readonly TodoItem[]): boolean {
  return (
    left.length === right.length &&
    left.every(
      ({ content, status }, index) => content === right[index]?.content && status === right[index].status,
    )
  );
}

const SIGNS: Readonly<Record<TodoItem['status'], string>> = {
  pending: '[ ]',
  in_progress: '[>]',
  completed: '[x]',
};
