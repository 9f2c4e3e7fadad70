/** Clients for a pod's socket and for the tasks API, which reconnect and resume streams. */
export { type Backoff, DEFAULT_BACKOFF } from '../wire/index.ts';
export type { PodLine, PodReply } from './line.ts';
export { PodClient, type PodClientOptions, type RunOptions } from './pod-client.ts';
export {
  type TaskApproval,
  connectionErrorCode,
  isFinished,
  isTlsFailure,
  agentKnowsKey,
  type ListedTask,
  type EventStreamResult,
  provingTransport,
  type SubmittedTask,
  type TaskEvent,
  TasksClient,
  type TasksClientOptions,
  type TaskStatus,
  type TaskRequest,
  type WatchUpdate,
  type WatchOptions,
  watchTask,
} from './tasks/index.ts';
