import { isCertificateError } from '../base/index.ts';
import { PROXY_REFUSED } from '../wire/index.ts';
import type { Failure, FailureKind } from './event.ts';

/** When and how long to wait before a request is retried. Pure: the caller waits and counts. */
export interface RetryPolicy {
  readonly maxAttempts: number;
  readonly baseMs: number;
  readonly capMs: number;
  /** The limit for the sum of all delays. A longer Retry-After ends the retries. */
  readonly budgetMs: number;
}

export const DEFAULT_RETRY: RetryPolicy = { maxAttempts: 4, baseMs: 500, capMs: 10_000, budgetMs: 40_000 };

export interface Attempt {
  readonly failure: Failure;
  /** The number of attempts so far, including this one. */
  readonly attempts: number;
  /** The sum of the delays so far. */
  readonly waitedMs: number;
  /** Whether any block of this attempt's answer had started. A retry would then repeat output. */
  readonly answerBegan: boolean;
  /** In the range [0, 1). */
  readonly random: number;
}

/** Milliseconds to wait before the next attempt, or undefined to give up. Uses full jitter unless there is a Retry-After. */
export function retryDelay(policy: RetryPolicy, attempt: Attempt): number | undefined {
  const { failure, attempts, waitedMs, random } = attempt;
  if (attempt.answerBegan || attempts >= policy.maxAttempts || !isTransient(failure)) return undefined;
  const ceiling = Math.min(policy.capMs, policy.baseMs * 2 ** (attempts - 1));
  const delay = failure.retryAfterMs ?? Math.floor(random * ceiling);
  return waitedMs + delay > policy.budgetMs ? undefined : delay;
}

/** Whether the same request may succeed later. */
export function isTransient({ kind, httpStatus, code }: Failure): boolean {
  if (kind === 'quota' || code === PROXY_REFUSED || isCertificateError(code)) return false;
  if (httpStatus !== undefined) return httpStatus >= 500 || TRANSIENT_STATUSES.has(httpStatus);
  return TRANSIENT_KINDS.has(kind);
}

const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([408, 425, 429, 529]);
const TRANSIENT_KINDS: ReadonlySet<FailureKind> = new Set([
  'rate-limit',
  'overloaded',
  'server',
  'network',
  'timeout',
  'cut-off',
]);
