import { type JsonObject, withoutUndefined } from '../../../base/index.ts';
import type { FileChange, TaskHistory } from '../../../pod/index.ts';
import type { TaskType, WireChange } from '../wire.ts';

/** Encodes the result of a task, depending on its type. */
export function resultOf(taskType: TaskType, { outcome, usage }: TaskHistory): JsonObject {
  const { text, changes } = outcome;
  switch (taskType) {
    case 'chat':
    case 'complex_task':
      return { text, ...withoutUndefined({ usage }) };
    case 'command_execution': {
      const { stdout, stderr, exitCode } = outcome.command;
      return { stdout, stderr, exitCode };
    }
    case 'file_operation':
      return { text, changes: changes.map(encodeChange), ...withoutUndefined({ usage }) };
  }
}

function encodeChange({ path, tool, diff }: FileChange): WireChange {
  return { path, tool, diff };
}
