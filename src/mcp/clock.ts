import { setTimeout as sleep } from 'node:timers/promises';

/** The time functions that restarts need. */
export interface Clock {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Resolves after the delay, or immediately if the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  // A pending restart must not keep the process running.
  sleep: (ms, signal) => sleep(ms, undefined, { signal, ref: false }).catch(() => undefined),
};
