import { setTimeout as sleep } from 'node:timers/promises';
import { type Backoff, backoffMs } from '../backoff.ts';

/** Waits before an attempt, counted from 0, and no less than `leastMs`; not at all once the signal has fired. */
export async function pause(
  backoff: Backoff,
  attempt: number,
  signal: AbortSignal,
  leastMs = 0,
): Promise<void> {
  const ms = Math.max(leastMs, backoffMs(backoff, attempt, Math.random()));
  await sleep(ms, undefined, { signal }).catch(() => {});
}
