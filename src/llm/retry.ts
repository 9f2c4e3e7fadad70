import type { Failure, FailureKind } from './event.ts';

/** When and how long to wait before a request is sent again. Pure: the caller waits, counts and shows it. */
export interface RetryPolicy {
  readonly maxAttempts: number;
  readonly baseMs: number;
  readonly capMs: number;
  /** All waiting together; a provider that asks for more is not waited for. */
  readonly budgetMs: number;
}

export const DEFAULT_RETRY: RetryPolicy = { maxAttempts: 4, baseMs: 500, capMs: 10_000, budgetMs: 40_000 };

export interface Attempt {
  readonly failure: Failure;
  /** How many attempts have been made, this one included. */
  readonly attempts: number;
  /** How long has been waited between them. */
  readonly waitedMs: number;
  /** Whether any block of this attempt's answer had begun: then it cannot be repeated without doubling. */
  readonly answerBegan: boolean;
  /** From 0 up to but not including 1. */
  readonly random: number;
}

/** Milliseconds to wait before the next attempt, or undefined when it is of no use. Full jitter; `Retry-After` rules. */
export function retryDelay(policy: RetryPolicy, attempt: Attempt): number | undefined {
  const { failure, attempts, waitedMs, random } = attempt;
  if (attempt.answerBegan || attempts >= policy.maxAttempts || !isTransient(failure)) return undefined;
  const ceiling = Math.min(policy.capMs, policy.baseMs * 2 ** (attempts - 1));
  const delay = failure.retryAfterMs ?? Math.floor(random * ceiling);
  return waitedMs + delay > policy.budgetMs ? undefined : delay;
}

/** Whether the same request may succeed later. */
export function isTransient({ kind, httpStatus }: Failure): boolean {
  if (kind === 'quota') return false;
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
