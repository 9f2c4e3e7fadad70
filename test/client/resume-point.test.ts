import { describe, expect, it } from 'vitest';
import type { PodLine } from '../../src/client/index.ts';
import { ResumePoint } from '../../src/client/resume-point.ts';
import { backoffMs } from '../../src/wire/index.ts';

const line = (seq: number, event: 'closed' | 'snapshot' = 'closed'): PodLine =>
  // The resume point reads only the event and its number.
  ({ event, data: {}, seq }) as PodLine;

const accepts = (point: ResumePoint, received: PodLine): boolean => point.accept([received]).length === 1;

describe('the resume point of a stream', () => {
  it('is before an event whose lines may be incomplete; lines already received are skipped', () => {
    const point = new ResumePoint(undefined);
    expect(point.after).toBeUndefined();
    expect(accepts(point, line(3, 'snapshot'))).toBe(true);
    expect([4, 5, 5].map((seq) => accepts(point, line(seq)))).toEqual([true, true, true]);
    expect(point.after).toBe(4);
    point.startConnection();
    expect([5, 5, 5, 6].map((seq) => accepts(point, line(seq)))).toEqual([false, false, true, true]);
    expect(point.after).toBe(5);
  });

  it('does not change if a connection delivers nothing', () => {
    const point = new ResumePoint(7);
    point.startConnection();
    point.startConnection();
    expect(point.after).toBe(7);
    expect([7, 8, 8].map((seq) => accepts(point, line(seq)))).toEqual([false, true, true]);
    point.startConnection();
    point.startConnection();
    expect([8, 8, 9].map((seq) => accepts(point, line(seq)))).toEqual([false, false, true]);
  });

  it('is reset by a snapshot', () => {
    const point = new ResumePoint(7);
    point.accept([line(8)]);
    point.startConnection();
    expect(accepts(point, line(20, 'snapshot'))).toBe(true);
    expect(point.after).toBe(20);
    expect([20, 21].map((seq) => accepts(point, line(seq)))).toEqual([false, true]);
  });

  it('passes responses through', () => {
    expect(accepts(new ResumePoint(7), { event: 'closed', data: {} })).toBe(true);
  });
});

describe('the delay between two attempts', () => {
  it('doubles up to a maximum, with jitter of up to a half', () => {
    const backoff = { firstMs: 50, maxMs: 1_000 };
    expect([0, 1, 2, 5, 99].map((attempt) => backoffMs(backoff, attempt, 1))).toEqual([
      50, 100, 200, 1_000, 1_000,
    ]);
    expect(backoffMs(backoff, 1, 0)).toBe(50);
  });
});
