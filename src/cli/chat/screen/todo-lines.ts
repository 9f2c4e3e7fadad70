import { BOLD, DIM, fitLine, GREEN, type Line, span } from '../../../terminal/index.ts';
import type { TodoItem } from '../../../tools/index.ts';

/** The largest part of the screen that the list takes: one of this many rows. */
const SHARE = 4;
const MOST_ROWS = 8;

/**
 * The todos of the agent while one of them is open: the current one with those around it, or only the current one if there is no
 * space for more.
 */
export function todoLines(
  todos: readonly TodoItem[],
  { columns, rows }: { readonly columns: number; readonly rows: number },
): Line[] {
  const done = todos.filter(({ status }) => status === 'completed').length;
  if (done === todos.length) return [];
  const head = `todos ${done}/${todos.length}`;
  const current = currentIn(todos);
  const room = Math.min(MOST_ROWS, Math.floor(rows / SHARE)) - 1;
  if (room < 3) return [fitLine([span(`${head}: ${todos[current]?.content ?? ''}`, DIM)], columns)];
  const isFolded = todos.length > room;
  const shown = isFolded ? room - 1 : room;
  // The previous one stays visible for a moment of context.
  const from = Math.max(0, Math.min(current - 1, todos.length - shown));
  const lines = todos.slice(from, from + shown).map((todo) => fitLine(todoLine(todo), columns));
  const hidden = todos.length - lines.length;
  return [
    fitLine([span(head, DIM)], columns),
    ...lines,
    ...(isFolded ? [fitLine([span(`  … ${hidden} more: /todos`, DIM)], columns)] : []),
  ];
}

/** The item in progress, otherwise the first open one. */
function currentIn(todos: readonly TodoItem[]): number {
  const inProgress = todos.findIndex(({ status }) => status === 'in_progress');
  return inProgress >= 0 ? inProgress : todos.findIndex(({ status }) => status !== 'completed');
}

function todoLine({ content, status }: TodoItem): Line {
  if (status === 'completed') return [span('  ✓ ', GREEN), span(content, DIM)];
  if (status === 'in_progress') return [span('  ▸ '), span(content, BOLD)];
  return [span('  ○ ', DIM), span(content)];
}
