import { setTimeout as sleep } from 'node:timers/promises';

/** Time, as far as restarting a server needs it. */
export interface Clock {
  /** Milliseconds since some moment. */
  readonly now: () => number;
  /** Resolves after that time, or at once when the signal comes. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  // Waiting for a restart is no reason to keep a program running.
  sleep: (ms, signal) => sleep(ms, undefined, { signal, ref: false }).catch(() => undefined),
};
