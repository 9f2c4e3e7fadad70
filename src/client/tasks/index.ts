/** A client for the tasks API: submits tasks, reads their status, and watches them across reconnects. */
export { connectionErrorCode, isTlsFailure } from './exchange.ts';
export {
  type TaskApproval,
  isFinished,
  type ListedTask,
  type SubmittedTask,
  type TaskEvent,
  type TaskStatus,
  type TaskRequest,
} from './task.ts';
export { type EventStreamResult, TasksClient, type TasksClientOptions } from './tasks-client.ts';
export { type WatchUpdate, type WatchOptions, watchTask } from './watch-task.ts';
export { agentKnowsKey, provingTransport } from './agent-proof.ts';
