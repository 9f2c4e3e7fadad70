import type { Role, WorkRecords } from '../../../delegation/index.ts';
import type { Host } from '../../../pod/index.ts';
import type { TaskType } from '../wire.ts';
import { newTaskId, readTaskId } from './task-id.ts';
import { isOver, listedState } from './task-status.ts';

const TASK_TYPES_OF: Readonly<Record<Role, TaskType>> = { developer: 'file_operation', reviewer: 'chat' };

/** Records the work of a coordinator's delegates as separate tasks, so that clients can list and follow it. */
export function delegatedWork(host: Host): WorkRecords {
  return {
    newId: (podId, role) => newTaskId({ podId, taskType: TASK_TYPES_OF[role] }),
    isCoordinating: (row) =>
      row.tasks.some(
        (task) => readTaskId(task.taskId)?.taskType === 'complex_task' && !isOver(listedState(row, task)),
      ),
    outcome: async (podId, taskId) => {
      const history = await host.history.task(podId, taskId);
      if (history === undefined) return undefined;
      const { status, reason, usage, outcome } = history;
      return { status, reason, cost: usage?.cost, text: outcome.text, changes: outcome.changes };
    },
  };
}
