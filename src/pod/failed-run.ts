import type { PolypodError } from '../base/index.ts';
import type { Row } from './catalogue/index.ts';

/**
 * The row of a session whose log has failed. `written` is the row as the session file has it, `before` the one that lists showed:
 * it has events that could not be written. A run without an end has failed, unless it waits for a person: then it goes on with
 * the decision.
 */
export function rowAfterFailure(written: Row, before: Row, { message }: PolypodError, now: string): Row {
  const { lastRun, state } = written;
  const row = { ...written, ...timesOf(written, before) };
  if (lastRun?.status !== 'running' || state === 'waiting') return row;
  return {
    ...row,
    state: 'idle',
    lastRun: { ...lastRun, ...row.lastRun, status: 'failed', endedAt: now, message },
    tasks: row.tasks.map((task) =>
      task.status === 'running' ? { ...task, status: 'failed', at: now } : task,
    ),
  };
}

/** When runs and tasks changed is when lists were told so first; the file does not say. */
function timesOf({ lastRun, tasks }: Row, before: Row): Pick<Row, 'lastRun' | 'tasks'> {
  const isSame = lastRun !== undefined && before.lastRun?.runId === lastRun.runId;
  const { startedAt } = (isSame && before.lastRun) || {};
  const known = new Map(before.tasks.map((task) => [task.taskId, task]));
  return {
    ...(lastRun && { lastRun: { ...lastRun, ...(startedAt !== undefined && { startedAt }) } }),
    tasks: tasks.map((task) => {
      const last = known.get(task.taskId);
      return last?.status === task.status ? { ...task, at: last.at } : task;
    }),
  };
}

/** The file of such a session has no end of the run, so whoever opens it again finds it interrupted. What is known of it counts more. */
export function isKnownFailure(known: string | undefined, found: string, state: Row['state']): boolean {
  // One that waits for a person goes on.
  return known === 'failed' && found === 'interrupted' && state !== 'waiting';
}
