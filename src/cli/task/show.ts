import type { AskedApproval, ListedTask, TaskStatus } from '../../client/index.ts';
import { ago } from '../ago.ts';
import type { Surroundings } from '../command.ts';
import { table } from '../table.ts';
import { harmless } from '../terminal/harmless.ts';
import { progressBar } from './progress-bar.ts';

/** Where a task stands, for a person. */
export function statusText({ taskId, status, state, sessionId, progress }: TaskStatus): string {
  const rows = [
    ['task', taskId],
    ['status', state === undefined || state === status ? status : `${status} (${state})`],
    ...(sessionId === undefined ? [] : [['session', sessionId]]),
    ...(progress === undefined ? [] : [['progress', progressBar(progress)]]),
  ];
  return table(rows.map((row) => row.map(harmless)));
}

const HEADINGS = ['task', 'session', 'state', 'age'];

export function listText(tasks: readonly ListedTask[], { stdout }: Surroundings): string {
  const now = new Date();
  const cells = tasks.map(({ taskId, sessionId, state, updatedAt }) =>
    [taskId, sessionId, state, ago(updatedAt, now)].map(harmless),
  );
  return table([HEADINGS, ...cells], { columns: stdout.columns });
}

/** A status with what it waits for, for programs. */
export function statusWith(status: TaskStatus, approvals: readonly AskedApproval[]): object {
  return approvals.length === 0 ? status : { ...status, approvals };
}
