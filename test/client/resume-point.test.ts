import { describe, expect, it } from 'vitest';
import type { PodLine } from '../../src/client/index.ts';
import { backoffMs } from '../../src/client/backoff.ts';
import { ResumePoint } from '../../src/client/resume-point.ts';

const line = (seq: number, event = 'x'): PodLine => ({ event, data: {}, seq });

describe('where a stream is taken up again', () => {
  it('is before an event of which not all lines may have come; those that came are passed over', () => {
    const point = new ResumePoint(undefined);
    expect(point.after).toBeUndefined();
    expect(point.isNew(line(3, 'snapshot'))).toBe(true);
    expect([4, 5, 5].map((seq) => point.isNew(line(seq)))).toEqual([true, true, true]);
    expect(point.after).toBe(4);
    point.begin();
    expect([5, 5, 5, 6].map((seq) => point.isNew(line(seq)))).toEqual([false, false, true, true]);
    expect(point.after).toBe(5);
  });

  it('stays where it was when a connection brings nothing', () => {
    const point = new ResumePoint(7);
    point.begin();
    point.begin();
    expect(point.after).toBe(7);
    expect([7, 8, 8].map((seq) => point.isNew(line(seq)))).toEqual([false, true, true]);
    point.begin();
    point.begin();
    expect([8, 8, 9].map((seq) => point.isNew(line(seq)))).toEqual([false, false, true]);
  });

  it('is what a snapshot says, whatever came before', () => {
    const point = new ResumePoint(7);
    point.isNew(line(8));
    point.begin();
    expect(point.isNew(line(20, 'snapshot'))).toBe(true);
    expect(point.after).toBe(20);
    expect([20, 21].map((seq) => point.isNew(line(seq)))).toEqual([false, true]);
  });

  it('lets answers pass', () => {
    expect(new ResumePoint(7).isNew({ event: 'status', data: {} })).toBe(true);
  });
});

describe('the time between two attempts', () => {
  it('doubles up to a bound, and differs by up to a half', () => {
    const backoff = { firstMs: 50, longestMs: 1_000 };
    expect([0, 1, 2, 5, 99].map((attempt) => backoffMs(backoff, attempt, 1))).toEqual([
      50, 100, 200, 1_000, 1_000,
    ]);
    expect(backoffMs(backoff, 1, 0)).toBe(50);
  });
});
