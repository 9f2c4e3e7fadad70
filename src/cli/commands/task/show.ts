import type { TaskApproval, ListedTask, TaskStatus } from '../../../client/index.ts';
import { relativeTime } from '../../output/relative-time.ts';
import type { CommandContext } from '../../command.ts';
import { table } from '../../output/table.ts';
import { shortTaskIds } from './short-id.ts';
import { progressBar } from './progress-bar.ts';

/** Renders the status of a task for a person. */
export function statusText({ taskId, status, state, sessionId, progress, userPrompt }: TaskStatus): string {
  const rows = [
    ['task', taskId],
    ['status', state === undefined || state === status ? status : `${status} (${state})`],
    ...(sessionId === undefined ? [] : [['session', sessionId]]),
    ...(userPrompt === undefined ? [] : [['about', oneLine(userPrompt)]]),
    ...(progress === undefined ? [] : [['progress', progressBar(progress)]]),
  ];
  return table(rows);
}

const HEADINGS = ['task', 'session', 'state', 'age', 'about'];
/** The column of ages is right-aligned. */
const RIGHT = new Set([3]);

export function listText(tasks: readonly ListedTask[], { stdout }: CommandContext): string {
  const now = new Date();
  const short = shortTaskIds(tasks.map(({ taskId }) => taskId));
  const cells = tasks.map(({ taskId, sessionId, state, updatedAt, userPrompt = '' }) => [
    short.get(taskId) ?? taskId,
    sessionId,
    state,
    relativeTime(updatedAt, now),
    oneLine(userPrompt),
  ]);
  // Not every server returns the prompt.
  const headings = tasks.some(({ userPrompt }) => userPrompt !== undefined)
    ? HEADINGS
    : HEADINGS.slice(0, -1);
  return table([headings, ...cells], { right: RIGHT, columns: stdout.columns });
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}

/** A status with its pending approvals, for programs. */
export function statusWith(status: TaskStatus, approvals: readonly TaskApproval[]): object {
  return approvals.length === 0 ? status : { ...status, approvals };
}
