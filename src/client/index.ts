/** A client of a pod's socket: methods, events, and one unbroken stream over broken connections. */
export { type Backoff, DEFAULT_BACKOFF } from './backoff.ts';
export type { PodLine } from './line.ts';
export { PodClient, type PodClientOptions, type RunOptions } from './pod-client.ts';
