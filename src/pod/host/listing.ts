import { ellipsize, truncateText, stringOf, withoutUndefined } from '../../base/index.ts';
import { type Item, contentText } from '../../llm/index.ts';
import type { RunOutcome, Totals } from '../../worker/index.ts';
import type { Row } from '../catalogue/index.ts';
import { approvalRows } from './approval-rows.ts';
import type { Header, ModelChoice } from '../session/index.ts';
import { MOST_TASKS, type TaskIndex } from '../view/task-book.ts';
import type { PodView } from '../view/view.ts';

export interface ListedSessions {
  readonly header: Header;
  readonly view: PodView;
  readonly totals: Totals;
  /** The current model, or the one that the next run would use; undefined if unknown. */
  readonly model: ModelChoice | undefined;
}

export interface Listing {
  readonly file: string;
  readonly before: Row | undefined;
  readonly now: string;
  /** The time of the last activity, if not now. */
  readonly updatedAt?: string | undefined;
}

/** Builds the row of a session. */
export function rowOf(
  { header, view, totals, model }: ListedSessions,
  { file, before, now, updatedAt = now }: Listing,
): Row {
  const { settings } = view;
  const { name, backend, archived, acceptEdits, skipPermissionsUntil, annotations } = settings;
  const parentId = stringOf(header.extras?.parentSessionId);
  const firstPrompt = before?.firstPrompt ?? shortened(view.items.find(isFrom('user')));
  const lastText = shortened(view.items.findLast(isFrom('assistant'))) ?? before?.lastText;
  // A title from a prompt is a part of the first prompt, which the row has; but that of a fork is a prompt of its parent.
  const isFork = parentId !== '' && header.extras?.spawned !== true;
  const title = isFork || view.title?.source === 'model' ? view.title?.text : undefined;
  const key = before?.key ?? stringOf(header.extras?.key);
  return {
    id: header.id,
    file,
    cwd: header.cwd,
    createdAt: header.timestamp,
    updatedAt,
    state: view.state,
    archived,
    totals,
    ...approvalRows(view.approvals, before?.settled),
    queued: view.queue.length,
    tasks: tasksOf(view, before, now),
    ...withoutUndefined({ name, title, backend }),
    ...(parentId === '' ? {} : { parentId }),
    ...(header.extras?.spawned === true && { spawned: true }),
    ...(model === undefined ? {} : { model: `${model.provider}/${model.modelId}` }),
    ...withoutUndefined({ firstPrompt, lastText }),
    ...(key === '' ? {} : { key }),
    ...(acceptEdits && { acceptEdits }),
    ...withoutUndefined({ skipPermissionsUntil, annotations }),
    ...lastRunOf(view, before?.lastRun, now),
  };
}

/** A task's time is when its status was first listed. A pod that was opened at a checkpoint does not load earlier tasks. */
function tasksOf(view: PodView, before: Row | undefined, now: string): Row['tasks'] {
  const { tasks: index } = view;
  const changed = index.takeChanged();
  const listed = LISTED_TASKS.get(index);
  const isWaiting = view.state === 'waiting';
  const isCurrent = listed?.isWaiting === isWaiting && listed.tasks === before?.tasks;
  // Most events change no task, and others only one of a hundred.
  if (isCurrent && changed.size === 0) return listed.tasks;
  const tasks = isCurrent
    ? withChanged(listed.tasks, changed, view, now)
    : withChanged(before?.tasks ?? [], index.ids(), view, now);
  LISTED_TASKS.set(index, { isWaiting, tasks });
  return tasks;
}

/** The last result for each index of tasks. */
const LISTED_TASKS = new WeakMap<TaskIndex, { readonly isWaiting: boolean; readonly tasks: Row['tasks'] }>();

/** The list after tasks were added or changed. New tasks come last. */
function withChanged(
  listed: Row['tasks'],
  taskIds: Iterable<string>,
  { tasks: index, state }: PodView,
  now: string,
): Row['tasks'] {
  const tasks = [...listed];
  for (const taskId of taskIds) {
    const task = index.get(taskId);
    if (task === undefined) continue;
    const at = tasks.findLastIndex((one) => one.taskId === taskId);
    const last = tasks[at];
    if (last === undefined) tasks.push({ taskId, ...task, at: now });
    else if (last.runId !== task.runId || !isKnownFailure(last.status, task.status, state))
      tasks[at] = { ...last, ...task, at: last.status === task.status ? last.at : now };
  }
  return tasks.slice(-MOST_TASKS);
}

/** The start and end times are when the change was first listed. */
function lastRunOf(
  { run, lastRun, state }: PodView,
  before: Row['lastRun'],
  now: string,
): Pick<Row, 'lastRun'> {
  const runId = run?.runId ?? lastRun?.runId;
  if (runId === undefined) return {};
  const known = before?.runId === runId ? before : undefined;
  const startedAt = known?.startedAt ?? now;
  if (run !== undefined) return { lastRun: { runId, status: 'running', startedAt } };
  if (lastRun === undefined) return {};
  if (known !== undefined && isKnownFailure(known.status, lastRun.outcome.status, state))
    return { lastRun: known };
  const message = reasonOf(lastRun.outcome);
  return {
    lastRun: {
      runId,
      status: lastRun.outcome.status,
      startedAt,
      endedAt: known?.endedAt ?? now,
      ...withoutUndefined({ message }),
    },
  };
}

function reasonOf(outcome: RunOutcome): string | undefined {
  const message =
    outcome.status === 'failed'
      ? outcome.failure.message
      : outcome.status === 'limited'
        ? outcome.message
        : undefined;
  return message === undefined ? undefined : ellipsize(message, LONGEST_REASON);
}

const LONGEST_REASON = 2_000;

function isFrom(role: 'user' | 'assistant') {
  return (item: Item): boolean =>
    item.type === 'message' && item.role === role && contentText(item.content) !== '';
}

const LONGEST = 200;

/** On one line. */
function shortened(item: Item | undefined): string | undefined {
  if (item?.type !== 'message') return undefined;
  const line = contentText(item.content)
    .slice(0, LONGEST * 4)
    .replaceAll(/\s+/g, ' ')
    .trim();
  return truncateText(line, LONGEST);
}

/**
 * A session file that could not be written has no end of the run, and reads as interrupted. The recorded failure takes
 * precedence.
 */
function isKnownFailure(known: string | undefined, found: string, state: Row['state']): boolean {
  // A run that waits for a person resumes.
  return known === 'failed' && found === 'interrupted' && state !== 'waiting';
}
