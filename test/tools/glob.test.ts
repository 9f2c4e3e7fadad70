import { describe, expect, test } from 'vitest';
import { globMatches, parseGlob } from '../../src/tools/search/glob.ts';
import { parsePathFilter } from '../../src/tools/search/path-filter.ts';

describe('a glob', () => {
  test.each([
    ['a', 'a', true],
    ['a', 'b', false],
    ['*', 'anything', true],
    ['*.ts', 'a.ts', true],
    ['*.ts', 'a.tsx', false],
    ['*.ts', 'dir/a.ts', false],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'a-c-b', false],
    ['a**c', 'abc', true],
    ['?.js', 'x.js', true],
    ['?.js', 'xy.js', false],
    ['[abc].js', 'b.js', true],
    ['[!abc].js', 'b.js', false],
    ['[^abc].js', 'd.js', true],
    ['[a-c0-9]', '7', true],
    ['[]a]', ']', true],
    ['[a-]', '-', true],
    ['[\\]]', ']', true],
    ['[a', '[a', true],
    ['\\*', '*', true],
    ['\\*', 'x', false],
    ['**/a', 'a', true],
    ['**/a', 'x/y/a', true],
    ['a/**/b', 'a/b', true],
    ['a/**/b', 'a/x/y/b', true],
    ['a/**/b', 'a/x/y/c', false],
    ['a/**', 'a', false],
    ['a/**', 'a/b', true],
    ['a/**', 'a/b/c', true],
    ['**', 'a/b', true],
    ['**/x/**/y', 'a/x/b/x/y', true],
    ['**/x/*/y', 'a/x/b/x/c/y', true],
  ])('%s and %s: %s', (glob, path, matches) => {
    expect(globMatches(parseGlob(glob), path.split('/'))).toBe(matches);
  });

  test('takes no exponential time, however many stars it has', () => {
    const glob = parseGlob(`${'*a'.repeat(40)}/${'**/*a/'.repeat(20)}x`);
    expect(globMatches(glob, ['a'.repeat(250), ...'ba/'.repeat(100).split('/')])).toBe(false);
  });
});

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

  test('with too many alternatives is rejected', () => {
    expect(parsePathFilter('{1,2,3}'.repeat(20))).toContain('more than 200 alternatives');
  });
});
