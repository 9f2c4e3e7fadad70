import { describe, expect, it } from 'vitest';
import { UnreadBatches } from '../../../src/protocols/pod/unread-batches.ts';

const numbers = (count: number, from = 1): readonly number[] =>
  Array.from({ length: count }, (_, index) => from + index);

function unreadOf(limit: number): UnreadBatches<readonly number[]> {
  return new UnreadBatches(limit, { size: (batch) => batch.length, lastSeq: (batch) => batch.at(-1) });
}

describe('unread batches', () => {
  it('keep one batch that is larger than the limit, because its reader is not slow', () => {
    const unread = unreadOf(10);
    unread.push(numbers(5));
    unread.take();
    unread.push(numbers(50, 6));
    expect(unread.take()).toEqual([numbers(50, 6)]);
    unread.push(numbers(1, 56));
    expect(unread.take()).toEqual([[56]]);
  });

  it('are dropped when a second batch exceeds the limit, with the number to resume after', () => {
    const unread = unreadOf(10);
    unread.push(numbers(5));
    unread.take();
    unread.push(numbers(50, 6));
    unread.push(numbers(1, 56));
    expect(() => unread.take()).toThrow('more than 10 events were unread: subscribe after 5');
  });
});
