import * as fc from 'fast-check';
import picomatch from 'picomatch';
import { describe, expect, test } from 'vitest';
import { compileNameGlob, compilePathGlob, escapeGlob } from '../../src/base/index.ts';

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
    expect(compilePathGlob(glob)?.(path.split('/'))).toBe(matches);
  });

  test('takes no exponential time, however many stars it has', () => {
    const matches = compilePathGlob(`${'*a'.repeat(40)}/${'**/*a/'.repeat(20)}x`);
    expect(matches?.(['a'.repeat(250), ...'ba/'.repeat(100).split('/')])).toBe(false);
  });

  test('takes no exponential time, however many braces or brackets it has', () => {
    expect(compilePathGlob('{a,aa}'.repeat(30))).toBeUndefined();
    expect(compilePathGlob(`{a,b}${'{,'.repeat(20_000)}`)?.(['a'])).toBe(false);
    expect(compilePathGlob('[\\]'.repeat(20_000))?.(['a'])).toBe(false);
    expect(compilePathGlob(`{1,2}${'{'.repeat(10_000)}`)?.(['a'])).toBe(false);
    expect(compilePathGlob(`{${','.repeat(100_000)}}`)).toBeUndefined();
  });

  test.each([
    ['a{b,c{d,e}}', ['ab', 'acd', 'ace']],
    ['{a}', ['{a}']],
    ['\\{a,b\\}', ['{a,b}']],
    ['{src/**,test}/x', ['src/x', 'src/a/b/x', 'test/x']],
  ])('%s has the alternatives %j', (glob, paths) => {
    expect(paths.filter((path) => compilePathGlob(glob)?.(path.split('/')) !== true)).toEqual([]);
  });

  test('counts characters, not their parts', () => {
    expect(compilePathGlob('?.ts')?.(['\u{1f600}.ts'])).toBe(true);
    expect(compilePathGlob('[\u{1f600}-\u{1f602}]')?.(['\u{1f601}'])).toBe(true);
  });

  test.each([
    ['SRC/*.TS', 'src/a.ts', true],
    ['straSSe', 'STRASSE', true],
    ['\u212a', 'k', true],
    ['[a-c]', 'B', true],
    ['[A-C]', 'b', true],
    ['[!a-c]', 'B', false],
  ])('without case, %s and %s: %s', (glob, path, matches) => {
    expect(compilePathGlob(glob, { ignoreCase: true })?.(path.split('/'))).toBe(matches);
  });

  test('for a name that is not a path, matches slashes', () => {
    expect(compileNameGlob('open*')?.('openrouter/anthropic/claude')).toBe(true);
    expect(compileNameGlob('mcp__{a,b}__*')?.('mcp__b__read')).toBe(true);
    expect(compileNameGlob('mcp__{a,b}__*')?.('mcp__c__read')).toBe(false);
  });

  test('of an escaped text matches only the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'ab*?[]{},!^-\\/.'.split('')) }), (text) => {
        expect(compileNameGlob(escapeGlob(text))?.(text)).toBe(true);
        expect(compileNameGlob(escapeGlob(text))?.(`${text}a`)).toBe(false);
      }),
    );
  });

  // picomatch is a well-known dialect. It is not used for untrusted globs: see docs/decisions/035-text-and-file-libraries.md.
  test('means the same as for picomatch', () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '.'), minLength: 1, maxLength: 4 });
    const part = fc.constantFrom(
      'a',
      'b',
      'c',
      '.',
      '*',
      '?',
      '[ab]',
      '[!a]',
      '[a-c]',
      '\\*',
      '{a,b}',
      '{a,bc}',
    );
    const segment = fc.oneof(
      fc.constant('**'),
      fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')),
    );
    const segments = fc.array(segment, { minLength: 1, maxLength: 4 });
    const names = fc.array(name, { minLength: 1, maxLength: 5 });
    // Without its fast paths: they read a few short globs, such as `*.*`, in another way than the parser does.
    const options = {
      dot: true,
      posix: true,
      literalBrackets: false,
      strictSlashes: true,
      fastpaths: false,
    } as const;
    fc.assert(
      fc.property(segments, names, (glob, path) => {
        // Here `*` also matches the names `.` and `..`, which no path of a search has; `a/**` does not match `a`.
        fc.pre([...path, ...glob].every((one) => !/^\.\.?$/.test(one)) && glob.at(-1) !== '**');
        // picomatch reads two stars in a name as a name of any depth.
        fc.pre(glob.every((one) => one === '**' || !one.includes('**')));
        const expected = picomatch.makeRe(glob.join('/'), options).test(path.join('/'));
        expect(compilePathGlob(glob.join('/'))?.(path)).toBe(expected);
      }),
      { numRuns: 5_000 },
    );
  });
});
