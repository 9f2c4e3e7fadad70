/** A client of the tasks API: submit a task, ask for it, and follow it over broken connections. */
export { failureIn, isTlsFailure } from './exchange.ts';
export {
  type AskedApproval,
  isOver,
  type ListedTask,
  type SubmittedTask,
  type TaskEvent,
  type TaskStatus,
  type TaskRequest,
} from './task.ts';
export { type OpenedEvents, TasksClient, type TasksClientOptions } from './tasks-client.ts';
export { type Watched, type WatchOptions, watchTask } from './watch-task.ts';
export { knowsKey, provingTransport } from './agent-proof.ts';
