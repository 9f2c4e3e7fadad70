import type { PolypodError } from '../base/index.ts';
import type { Row } from './catalogue/index.ts';

/**
 * The row of a session whose log failed during a run: that run has failed. Undefined when nothing changes: no run was under
 * way, or it waits for a person and goes on with the decision.
 */
export function rowAfterFailure(row: Row, { message }: PolypodError, now: string): Row | undefined {
  const { lastRun, state, tasks } = row;
  if (lastRun?.status !== 'running' || state === 'waiting') return undefined;
  return {
    ...row,
    state: 'idle',
    updatedAt: now,
    lastRun: { ...lastRun, status: 'failed', endedAt: now, message },
    tasks: tasks.map((task) => (task.status === 'running' ? { ...task, status: 'failed', at: now } : task)),
  };
}

/** The file of such a session has no end of the run, so whoever opens it again finds it interrupted. What is known of it counts more. */
export function isKnownFailure(known: string | undefined, found: string): boolean {
  return known === 'failed' && found === 'interrupted';
}
