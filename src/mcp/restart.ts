import type { McpFailure } from './connection/failure.ts';

/** When a server that is gone is started again. */
export interface RestartPolicy {
  /** How often in a row; a server that has lived for `stableMs` starts counting anew. */
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

export interface Ending {
  readonly failure: McpFailure;
  /** How often it has been started again since it was last stable. */
  readonly restarts: number;
  /** How long it was ready; 0 if it never was. */
  readonly livedMs: number;
}

export type AfterEnding =
  | { readonly type: 'restart'; readonly restarts: number; readonly delayMs: number }
  | { readonly type: 'give-up'; readonly restarts: number };

/** What to do about a server that is gone. Pure: the caller waits and starts it. */
export function afterEnding(policy: RestartPolicy, { failure, restarts, livedMs }: Ending): AfterEnding {
  const made = livedMs >= policy.stableMs ? 0 : restarts;
  if (failure.permanent || made >= policy.maxRestarts) return { type: 'give-up', restarts: made };
  return {
    type: 'restart',
    restarts: made + 1,
    delayMs: Math.min(policy.capMs, policy.baseMs * 2 ** made),
  };
}
