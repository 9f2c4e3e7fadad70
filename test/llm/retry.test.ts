import { describe, expect, it } from 'vitest';
import { type Attempt, DEFAULT_RETRY, type Failure, retryDelay } from '../../src/llm/index.ts';

const overloaded: Failure = { kind: 'overloaded', message: 'Overloaded', httpStatus: 529 };
const first: Attempt = { failure: overloaded, attempts: 1, waitedMs: 0, answerBegan: false, random: 0.5 };

const delay = (change: Partial<Attempt>) => retryDelay(DEFAULT_RETRY, { ...first, ...change });
const status = (httpStatus: number): Failure => ({ kind: 'provider', message: 'x', httpStatus });

describe('retryDelay', () => {
  it('doubles the ceiling with every attempt, up to the cap, and applies full jitter', () => {
    expect(delay({ random: 0 })).toBe(0);
    expect(delay({ random: 0.5 })).toBe(250);
    expect(delay({ attempts: 2, random: 0.5 })).toBe(500);
    expect(delay({ attempts: 3, random: 0.999 })).toBe(1998);
    expect(retryDelay({ ...DEFAULT_RETRY, maxAttempts: 99 }, { ...first, attempts: 20, random: 0.5 })).toBe(
      5000,
    );
  });

  it('honours Retry-After, and gives up if it exceeds the remaining budget', () => {
    expect(delay({ failure: { ...overloaded, retryAfterMs: 7000 } })).toBe(7000);
    expect(delay({ failure: { ...overloaded, retryAfterMs: 3_600_000 } })).toBeUndefined();
  });

  it('gives up after the last attempt and when the budget is used up', () => {
    expect(delay({ attempts: 4 })).toBeUndefined();
    expect(delay({ waitedMs: 39_900 })).toBeUndefined();
  });

  it('never retries once the answer has started', () => {
    expect(delay({ answerBegan: true })).toBeUndefined();
  });

  it.each([408, 425, 429, 500, 502, 503, 504, 529])('retries after HTTP %i', (code) => {
    expect(delay({ failure: status(code) })).toBeDefined();
  });

  it.each([400, 401, 403, 404, 413, 422])('does not retry after HTTP %i', (code) => {
    expect(delay({ failure: status(code) })).toBeUndefined();
  });

  it('retries after a failed connection, but not when the account has no credit', () => {
    expect(delay({ failure: { kind: 'network', message: 'x' } })).toBeDefined();
    expect(delay({ failure: { kind: 'timeout', message: 'x' } })).toBeDefined();
    expect(delay({ failure: { kind: 'quota', message: 'x', httpStatus: 429 } })).toBeUndefined();
    expect(delay({ failure: { kind: 'auth', message: 'x' } })).toBeUndefined();
  });
});
