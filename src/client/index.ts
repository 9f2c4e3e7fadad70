/** Clients of a pod's socket and of the tasks API: methods, events, and one unbroken stream over broken connections. */
export { type Backoff, DEFAULT_BACKOFF } from './backoff.ts';
export type { PodLine } from './line.ts';
export { PodClient, type PodClientOptions, type RunOptions } from './pod-client.ts';
export {
  type AskedApproval,
  failureIn,
  isOver,
  isTlsFailure,
  knowsKey,
  type ListedTask,
  type OpenedEvents,
  provingTransport,
  type SubmittedTask,
  type TaskEvent,
  TasksClient,
  type TasksClientOptions,
  type TaskStatus,
  type TaskRequest,
  type Watched,
  type WatchOptions,
  watchTask,
} from './tasks/index.ts';
