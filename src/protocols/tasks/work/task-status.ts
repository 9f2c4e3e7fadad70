import type { Row, TaskHistory, TaskRow } from '../../../pod/index.ts';
import { readTaskId } from './task-id.ts';
import { resultOf } from './task-result.ts';
import type { TaskState, TaskStatusReply, TaskType } from '../wire.ts';

/** Whether no later task of its session has started. A task that is pending, or was removed from the queue, has not started. */
function isLastBegun(tasks: Row['tasks'], taskId: string): boolean {
  const at = tasks.findIndex((task) => task.taskId === taskId);
  return !tasks.slice(at + 1).some(({ runId }) => runId !== undefined);
}

/** The state of a task in the session's row. */
export function listedState(row: Pick<Row, 'state' | 'tasks'>, task: TaskRow): TaskState {
  const isLast = isLastBegun(row.tasks, task.taskId);
  return judged(stateOf(task.status, isLast, row), readTaskId(task.taskId)?.taskType, task.denied === true);
}

/** The state of a task that is no longer in the row. */
export function pastState(
  row: Pick<Row, 'state'>,
  taskType: TaskType,
  { status, denied }: TaskHistory,
): TaskState {
  return judged(stateOf(status, false, row), taskType, denied !== undefined);
}

/** The run of a command finishes whatever the command does, but a denied command is not a success. */
function judged(state: TaskState, taskType: TaskType | undefined, isDenied: boolean): TaskState {
  return state === 'succeeded' && isDenied && taskType === 'command_execution' ? 'denied' : state;
}

/** Derives the state from the status of its run and the state of its pod. */
function stateOf(status: string, isLast: boolean, { state }: Pick<Row, 'state'>): TaskState {
  switch (status) {
    case 'pending':
      return 'pending';
    case 'running':
      return state === 'waiting' ? 'waiting_approval' : 'running';
    case 'finished':
      return 'succeeded';
    case 'failed':
    case 'cancelled':
    case 'limited':
      return status;
    default:
      // Paused, or interrupted by a crash: a decision continues it, unless another task has started since.
      if (isLast && state === 'waiting') return 'waiting_approval';
      if (isLast && state === 'running') return 'running';
      if (isLast && state === 'paused') return 'paused';
      return 'interrupted';
  }
}

/** Maps states to the four statuses of the protocol. */
export const STATUS: Readonly<Record<TaskState, TaskStatusReply['status']>> = {
  pending: 'pending',
  running: 'in_progress',
  waiting_approval: 'in_progress',
  paused: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  cancelled: 'failed',
  denied: 'failed',
  interrupted: 'failed',
  limited: 'failed',
};

/** Whether the task has ended. */
export function isOver(state: TaskState): boolean {
  return STATUS[state] === 'completed' || STATUS[state] === 'failed';
}

/** The result, error and progress of a task that has started. The progress is known if the task has a list of steps. */
export function outcomeOf(
  state: TaskState,
  taskType: TaskType,
  history: TaskHistory,
): Pick<TaskStatusReply, 'result' | 'errorMessage' | 'progress'> {
  const { stepsDone } = history;
  switch (STATUS[state]) {
    case 'pending':
      return {};
    case 'in_progress':
      // All steps may be done before the last answer: only a completed task has 100.
      return stepsDone === undefined ? {} : { progress: Math.min(99, Math.floor(stepsDone * 100)) };
    case 'completed':
      return { progress: 100, result: resultOf(taskType, history) };
    case 'failed':
      return { errorMessage: reasonFor(state, history) };
  }
}

function reasonFor(state: TaskState, { reason, denied }: TaskHistory): string {
  if (state === 'denied') return `the command was denied: ${denied}`;
  return reason ?? REASONS[state] ?? 'the task failed';
}

const REASONS: Partial<Readonly<Record<TaskState, string>>> = {
  cancelled: 'the task was cancelled',
  interrupted: 'the process ended during the task: check what it did last, then submit it again',
  limited: 'the task was stopped by a limit',
};
