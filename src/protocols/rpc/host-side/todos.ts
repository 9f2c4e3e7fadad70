import { isObject, type JsonObject, PolypodError, stringOf } from '../../../base/index.ts';
import type { Snapshot } from '../../../pod/index.ts';
import type { OpenTodo } from '../../../reminders/index.ts';
import type { RpcTodo, RpcTodoPhase } from '../wire.ts';

type TodoItem = Snapshot['todos'][number];

/** Parses the phases of a frame: known keys only, without repair. */
export function phasesIn(value: unknown): readonly RpcTodoPhase[] {
  if (!Array.isArray(value))
    throw new PolypodError('bad-request', 'set_todos needs "phases", which is a list');
  return value.map((phase) => {
    const { id, name, tasks } = isObject(phase) ? phase : {};
    if (!Array.isArray(tasks))
      throw new PolypodError('bad-request', 'set_todos: every phase needs "tasks", which is a list');
    return {
      id: stringOf(id),
      name: stringOf(name),
      tasks: tasks.map((task) => taskIn(isObject(task) ? task : {})),
    };
  });
}

function taskIn({ id, content, status, notes }: JsonObject): RpcTodo {
  const known = STATUSES.find((word) => word === status);
  if (known === undefined)
    throw new PolypodError('bad-request', `set_todos: a task's "status" is one of ${STATUSES.join(', ')}`);
  return {
    id: stringOf(id),
    content: stringOf(content),
    status: known,
    ...(typeof notes === 'string' ? { notes } : {}),
  };
}

const STATUSES = ['pending', 'in_progress', 'completed', 'abandoned'] as const;

/** Converts tasks to the agent's list. Abandoned tasks count as done. */
export function itemsOf(phases: readonly RpcTodoPhase[]): readonly TodoItem[] {
  return phases.flatMap(({ tasks }) => tasks.map(itemOf));
}

function itemOf({ content, status }: RpcTodo): TodoItem {
  return { content, status: status === 'abandoned' ? 'completed' : status };
}

/**
 * Merges a change of the agent's list, which has neither phases nor ids: a known step keeps its phase, and a new one is added after its
 * predecessor.
 */
export function mergeTodos(
  phases: readonly RpcTodoPhase[],
  items: readonly TodoItem[],
): readonly RpcTodoPhase[] {
  if (isSame(itemsOf(phases), items)) return phases;
  const tasks = phases.flatMap((phase) => phase.tasks.map((task) => ({ phase: phase.id, task })));
  let last = tasks.reduce(
    (most, { task }) => Math.max(most, Number(/^task-(\d+)$/.exec(task.id)?.[1] ?? 0)),
    0,
  );
  let phaseId = phases[0]?.id ?? FIRST.id;
  const placed = items.map(({ content, status }) => {
    const at = tasks.findIndex(({ task }) => task.content === content);
    const [known] = at < 0 ? [] : tasks.splice(at, 1);
    phaseId = known?.phase ?? phaseId;
    if (known === undefined) last += 1;
    const before = known?.task ?? { id: `task-${last}`, content, status };
    return { phase: phaseId, task: itemOf(before).status === status ? before : { ...before, status } };
  });
  return (phases.length === 0 ? [FIRST] : phases)
    .map(({ id, name }) => ({
      id,
      name,
      tasks: placed.filter(({ phase }) => phase === id).map(({ task }) => task),
    }))
    .filter(({ tasks: kept }) => kept.length > 0);
}

const FIRST = { id: 'phase-1', name: 'Todos' };

function isSame(one: readonly TodoItem[], other: readonly TodoItem[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ content, status }, at) => other[at]?.content === content && other[at]?.status === status)
  );
}

/** The tasks that are not done. */
export function openTasks(phases: readonly RpcTodoPhase[]): readonly OpenTodo[] {
  return phases.flatMap(({ tasks }) =>
    tasks.flatMap(({ id, content, status }) =>
      status === 'pending' || status === 'in_progress' ? [{ id, content, status }] : [],
    ),
  );
}

/** Removes a task, and a phase that becomes empty. */
export function without(phases: readonly RpcTodoPhase[], taskId: string): readonly RpcTodoPhase[] {
  return phases
    .map(({ id, name, tasks }) => ({ id, name, tasks: tasks.filter((task) => task.id !== taskId) }))
    .filter(({ tasks }) => tasks.length > 0);
}
