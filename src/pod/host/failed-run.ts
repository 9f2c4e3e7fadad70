import { type PolypodError, withoutUndefined } from '../../base/index.ts';
import type { Catalogue, Row } from '../catalogue/index.ts';
import { type RowSource, rowFromFile } from './session-rows.ts';

/** Corrects the row of a session whose log could not be written. Resolves with the previous row, if the session is listed. */
export async function recordFailedRun(
  catalogue: Catalogue,
  source: RowSource,
  { id, file }: { readonly id: string; readonly file: string },
  failure: PolypodError,
): Promise<Row | undefined> {
  const before = catalogue.get(id);
  if (before === undefined) return undefined;
  const now = source.now().toISOString();
  const written = await rowFromFile(source, file, now).catch(() => before);
  catalogue.put(rowAfterFailure(written, before, failure, now));
  return before;
}

/**
 * Returns the row of a session whose log failed. `written` is the row according to the session file. `before` is the listed row,
 * which includes events that could not be written. A run without an end has failed, unless it waits for a person: then it resumes
 * with the decision.
 */
function rowAfterFailure(written: Row, before: Row, { message }: PolypodError, now: string): Row {
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

/** The session file has no times for runs and tasks, so unchanged ones keep the times of the listed row. */
function timesOf({ lastRun, tasks }: Row, before: Row): Pick<Row, 'lastRun' | 'tasks'> {
  const isSame = lastRun !== undefined && before.lastRun?.runId === lastRun.runId;
  const { startedAt } = (isSame && before.lastRun) || {};
  const known = new Map(before.tasks.map((task) => [task.taskId, task]));
  return {
    ...(lastRun && { lastRun: { ...lastRun, ...withoutUndefined({ startedAt }) } }),
    tasks: tasks.map((task) => {
      const last = known.get(task.taskId);
      return last?.status === task.status ? { ...task, at: last.at } : task;
    }),
  };
}
