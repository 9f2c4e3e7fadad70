import { hash } from 'node:crypto';
import { randomDigits } from '../../../base/index.ts';
import { TASK_TYPES, type TaskType } from '../wire.ts';

export interface TaskName {
  readonly podId: string;
  readonly taskType: TaskType;
}

/**
 * A task's id contains its pod and its type, so that a task is found without an index, however old it is. With an idempotency key, the id
 * is derived from the key: the same submission is the same task.
 */
export function newTaskId({ podId, taskType }: TaskName, key?: readonly string[]): string {
  const own = key === undefined ? randomDigits(24) : hash('sha256', JSON.stringify(key)).slice(0, 24);
  return `task_${podId}_${TASK_TYPES.indexOf(taskType)}${own}`;
}

export function readTaskId(taskId: string): TaskName | undefined {
  const [, podId, index] = /^task_([0-9a-f-]{36})_(\d)[0-9a-f]{24}$/.exec(taskId) ?? [];
  const taskType = TASK_TYPES[Number(index)];
  return podId === undefined || taskType === undefined ? undefined : { podId, taskType };
}
