import { expect, it } from 'vitest';
import { isWithinLimit } from '../../src/pod/index.ts';

it('excludes tools by globs', () => {
  const names = ['read', 'mcp__wiki__read', 'mcp__wiki__delete', 'mcp__shop__delete'];
  const left = (...without: readonly string[]) => names.filter((name) => isWithinLimit(name, { without }));
  expect(left('mcp__*')).toEqual(['read']);
  expect(left('mcp__*__delete')).toEqual(['read', 'mcp__wiki__read']);
  expect(left('{read,mcp__shop__*}')).toEqual(['mcp__wiki__read', 'mcp__wiki__delete']);
  expect(left('*')).toEqual([]);
  expect(left('rea')).toEqual(names);
});

it('excludes all tools by a glob with too many alternatives', () => {
  expect(isWithinLimit('read', { without: ['{a,b,c}'.repeat(20)] })).toBe(false);
});
