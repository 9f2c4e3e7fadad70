import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseFrame, isDeeperThan, isValueDeeperThan, readMessage, tryParse } from '../../src/base/index.ts';

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

test('readMessage rejects a message nested 100,000 levels deep and names the limit', () => {
  expect(readMessage(lists(100_000))).toEqual({
    problem: 'too-deep',
    reason: 'lists and objects may be nested at most 128 levels deep',
  });
  expect(readMessage(lists(128))).toHaveProperty('value');
  expect(tryParse(lists(100_000))).toBeUndefined();
});

test('a cyclic value counts as too deep', () => {
  const value: { self?: unknown; again?: unknown } = {};
  value.self = value.again = value;
  expect(isValueDeeperThan(128, value)).toBe(true);
});

test('parseFrame replaces values that are nested too deep and keeps the rest of the frame', () => {
  const deep = `{"a":1,"b":[${lists(600)},2],"c":"[[{"}`;
  expect(parseFrame(deep)).toMatchObject({ a: 1, c: '[[{' });
  expect(JSON.stringify(parseFrame(deep))).toContain('nested deeper than 512 levels');
  expect(parseFrame('{"a":1}')).toEqual({ a: 1 });
});
