import { describe, expect, test } from 'vitest';
import { parsePathFilter } from '../../src/tools/search/path-filter.ts';

describe('a pattern for paths', () => {
  test.each([
    ['*.ts', 'src/deep/a.ts', true],
    ['src/*.ts', 'src/a.ts', true],
    ['src/*.ts', 'src/deep/a.ts', false],
    ['/a.ts', 'a.ts', true],
    ['/a.ts', 'src/a.ts', false],
    ['./src/*.ts', 'src/a.ts', true],
    ['src/', 'src/deep/a.ts', true],
    ['*.{ts,tsx}', 'a.tsx', true],
    ['{src,test}/**/*.{a,b{1,2}}', 'test/x/y.b2', true],
    ['{src,test}/**/*.{a,b{1,2}}', 'test/x/y.b3', false],
    ['{a}', '{a}', true],
    ['!*.ts', 'a.ts', false],
    ['!*.ts', 'a.js', true],
  ])('%s and %s: %s', (pattern, path, matches) => {
    const filter = parsePathFilter(pattern);
    expect(typeof filter === 'string' ? filter : filter.matches(path.split('/'))).toBe(matches);
  });

  test('detects patterns for hidden files', () => {
    const hidden = (pattern: string): unknown => {
      const filter = parsePathFilter(pattern);
      return typeof filter === 'string' ? filter : filter.hidden;
    };
    expect(['.env', '.github/**', '**/.eslintrc*', '{a,.b}'].map(hidden)).toEqual([true, true, true, true]);
    expect(['*.ts', './a', '../a', 'a.b', '!.env'].map(hidden)).toEqual([false, false, false, false, false]);
  });

  test('with too many alternatives or characters is rejected', () => {
    expect(parsePathFilter('{1,2,3}'.repeat(20))).toContain('more than 200 alternatives');
    expect(parsePathFilter('a'.repeat(5_000))).toBe(
      'The pattern is longer than 4096 characters. Use several calls.',
    );
  });
});
