import { setTimeout as sleep } from 'node:timers/promises';

export interface Backoff {
  readonly firstMs: number;
  readonly maxMs: number;
}

export const DEFAULT_BACKOFF: Backoff = { firstMs: 50, maxMs: 5_000 };

/** The delay before an attempt, counted from 0. It doubles each time, with jitter so that clients do not retry simultaneously. */
export function backoffMs({ firstMs, maxMs }: Backoff, attempt: number, random: number): number {
  const delay = Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 30));
  return Math.round(delay * (0.5 + random / 2));
}

/** Waits before an attempt, counted from 0, for at least `minMs` and at most `maxMs`. Returns immediately if the signal is aborted. */
export async function waitBeforeAttempt(
  backoff: Backoff,
  attempt: number,
  signal: AbortSignal,
  { minMs = 0, maxMs = Number.POSITIVE_INFINITY } = {},
): Promise<void> {
  const ms = Math.min(maxMs, Math.max(minMs, backoffMs(backoff, attempt, Math.random())));
  await sleep(ms, undefined, { signal }).catch(() => {});
}
