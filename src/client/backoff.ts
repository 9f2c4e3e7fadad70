export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

export const DEFAULT_BACKOFF: Backoff = { firstMs: 50, longestMs: 5_000 };

/** How long to wait before an attempt, counted from 0: twice as long each time, and never all clients at once. */
export function backoffMs({ firstMs, longestMs }: Backoff, attempt: number, random: number): number {
  const full = Math.min(longestMs, firstMs * 2 ** Math.min(attempt, 30));
  return Math.round(full * (0.5 + random / 2));
}
