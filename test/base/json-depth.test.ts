import fc from 'fast-check';
import { expect, test } from 'vitest';
import { frameIn, isDeeperThan, isValueDeeperThan, readMessage, tryParse } from '../../src/base/index.ts';

function lists(depth: number): string {
  return `${'['.repeat(depth)}${']'.repeat(depth)}`;
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

test('isDeeperThan agrees with a recursive count for any JSON and any limit', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), fc.integer({ min: 0, max: 8 }), (text, limit) => {
      const deeper = depthOf(JSON.parse(text)) > limit;
      expect(isDeeperThan(limit, text)).toBe(deeper);
      expect(isValueDeeperThan(limit, JSON.parse(text))).toBe(deeper);
    }),
  );
});

test('brackets inside strings do not count as nesting', () => {
  const text = JSON.stringify({ text: `\\"${'[{'.repeat(1_000)}\\` });
  expect(isDeeperThan(1, text)).toBe(false);
  expect(tryParse(text)).toEqual(JSON.parse(text));
});

test('a message nested 100,000 levels deep is refused with the limit in the reason', () => {
  expect(readMessage(lists(100_000))).toEqual({
    problem: 'too-deep',
    reason: 'lists and objects may be nested at most 128 levels deep',
  });
  expect(readMessage(lists(128))).toHaveProperty('value');
  expect(tryParse(lists(100_000))).toBeUndefined();
});

test('a value that contains itself counts as too deep', () => {
  const value: { self?: unknown; again?: unknown } = {};
  value.self = value.again = value;
  expect(isValueDeeperThan(128, value)).toBe(true);
});

test('a frame that is nested too deep is cut off inside and keeps the rest', () => {
  const deep = `{"a":1,"b":[${lists(600)},2],"c":"[[{"}`;
  expect(frameIn(deep)).toMatchObject({ a: 1, c: '[[{' });
  expect(JSON.stringify(frameIn(deep))).toContain('nested deeper than 512 levels');
  expect(frameIn('{"a":1}')).toEqual({ a: 1 });
});
