import type { StandardSchemaV1 } from '@modelcontextprotocol/server';
import { type JsonObject, objectOf, PolypodError, stringOf, uuidv7 } from '../../../base/index.ts';

/** The extension of MCP for calls that take long: the client polls a task instead of waiting for the answer. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** Reads the parameters of the methods of tasks. */
export const TASK_ID: StandardSchemaV1<unknown, { readonly taskId: string }> = {
  '~standard': {
    version: 1,
    vendor: 'polypod',
    validate: (value: unknown) => {
      const taskId = stringOf(objectOf(value).taskId);
      return taskId === '' ? { issues: [{ message: 'taskId is missing' }] } : { value: { taskId } };
    },
  },
};

const POLL_MS = 1_000;
/** More tasks than a client can use: the oldest are forgotten. */
const MAX_TASKS = 500;

interface WaitTask {
  readonly taskId: string;
  readonly createdAt: string;
  updatedAt: string;
  /** The result of the tool if it is available now; undefined while the session runs. */
  readonly check: () => Promise<JsonObject | undefined>;
  end:
    | { readonly status: 'completed'; readonly result: JsonObject }
    | { readonly status: 'cancelled' }
    | undefined;
}

/** The tasks of one client. A task waits for a session; cancelling it does not stop the run. */
export class WaitTasks {
  readonly #tasks = new Map<string, WaitTask>();

  /** Creates a task and returns the answer to the call. */
  create(check: WaitTask['check']): JsonObject {
    const now = new Date().toISOString();
    const task: WaitTask = { taskId: uuidv7(), createdAt: now, updatedAt: now, check, end: undefined };
    const [oldest] = this.#tasks.size >= MAX_TASKS ? this.#tasks.keys() : [];
    if (oldest !== undefined) this.#tasks.delete(oldest);
    this.#tasks.set(task.taskId, task);
    return { resultType: 'task', ...encode(task) };
  }

  /** The state of a task, with the result if the session has stopped. */
  async get(taskId: string): Promise<JsonObject> {
    const task = this.#find(taskId);
    const result = task.end === undefined ? await task.check() : undefined;
    // The client may have cancelled the task meanwhile.
    if (result !== undefined) settle(task, { status: 'completed', result });
    return encode(task);
  }

  cancel(taskId: string): void {
    settle(this.#find(taskId), { status: 'cancelled' });
  }

  #find(taskId: string): WaitTask {
    const task = this.#tasks.get(taskId);
    if (task !== undefined) return task;
    throw new PolypodError('not-found', `there is no task ${taskId}: call wait again`);
  }
}

function settle(task: WaitTask, end: NonNullable<WaitTask['end']>): void {
  if (task.end !== undefined) return;
  task.end = end;
  task.updatedAt = new Date().toISOString();
}

function encode({ taskId, createdAt, updatedAt, end }: WaitTask): JsonObject {
  return {
    taskId,
    createdAt,
    lastUpdatedAt: updatedAt,
    ttlMs: null,
    pollIntervalMs: POLL_MS,
    ...(end ?? { status: 'working' }),
  };
}
