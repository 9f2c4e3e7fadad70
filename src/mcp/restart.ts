import type { McpFailure } from './connection/failure.ts';

/** When a lost server is restarted. */
export interface RestartPolicy {
  /** How many restarts in a row; a server that was ready for `stableMs` resets the count. */
  readonly maxRestarts: number;
  readonly baseMs: number;
  readonly capMs: number;
  readonly stableMs: number;
}

export const DEFAULT_RESTART: RestartPolicy = {
  maxRestarts: 5,
  baseMs: 500,
  capMs: 30_000,
  stableMs: 60_000,
};

export interface ServerLoss {
  readonly failure: McpFailure;
  /** How often it has been restarted since it was last stable. */
  readonly restarts: number;
  /** How long it was ready; 0 if it never was. */
  readonly livedMs: number;
}

export type RestartDecision =
  | { readonly type: 'restart'; readonly restarts: number; readonly delayMs: number }
  | { readonly type: 'give-up'; readonly restarts: number };

/** Decides what to do about a lost server. Pure: the caller waits and restarts it. */
export function decideRestart(
  policy: RestartPolicy,
  { failure, restarts, livedMs }: ServerLoss,
): RestartDecision {
  const previousRestarts = livedMs >= policy.stableMs ? 0 : restarts;
  if (failure.permanent || previousRestarts >= policy.maxRestarts)
    return { type: 'give-up', restarts: previousRestarts };
  return {
    type: 'restart',
    restarts: previousRestarts + 1,
    delayMs: Math.min(policy.capMs, policy.baseMs * 2 ** previousRestarts),
  };
}
