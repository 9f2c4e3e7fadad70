import { setTimeout as sleep } from 'node:timers/promises';
import { type Backoff, backoffMs } from '../backoff.ts';

/** Waits before an attempt, counted from 0, for at least `minMs`. Returns immediately if the signal is aborted. */
export async function waitBeforeAttempt(
  backoff: Backoff,
  attempt: number,
  signal: AbortSignal,
  minMs = 0,
): Promise<void> {
  const ms = Math.max(minMs, backoffMs(backoff, attempt, Math.random()));
  await sleep(ms, undefined, { signal }).catch(() => {});
}
