import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decidingRule } from '../../../src/tools/policy/rule.ts';
import { matchesPathGlob, mayMatchPathGlob } from '../../../src/tools/policy/rule-glob.ts';

describe('the path glob of a rule', () => {
  it.each([
    ['build/**', '/w/build', true],
    ['build/**', '/w/a/build/b/c', true],
    ['/w/*.key', '/w/a.key', true],
    ['/w/*.key', '/w/a/b.key', false],
    ['/w/secret**', '/w/secrets/a/b', true],
    ['**.pem', '/w/a/b.pem', true],
    ['/w/a**b', '/w/a/x/b', true],
    ['app/[id]/**', '/w/app/[id]/page.ts', true],
    ['app/[id]/**', '/w/app/i/page.ts', false],
    ['{a,b}', '/w/{a,b}', true],
    ['{a,b}', '/w/a', false],
    ['a\\*', '/w/a*', true],
    ['a\\*', '/w/ab', false],
    ['secret/**', '/w/secret/a\nb', true],
  ])('%s and %j: %s', (glob, path, matches) => {
    expect(matchesPathGlob(glob, path)).toBe(matches);
    expect(mayMatchPathGlob(glob, path)).toBe(matches);
  });

  it('is compared without case only by rules that ask or deny', () => {
    expect(mayMatchPathGlob('Secret/*', '/w/sEcret/a')).toBe(true);
    expect(matchesPathGlob('Secret/*', '/w/sEcret/a')).toBe(false);
  });

  it('means what the regular expression of its parts means', () => {
    const glob = fc.string({
      unit: fc.constantFrom('a', 'b', '/', '*', '**', '?', '[', ']', '{', '}', ',', '\\'),
    });
    const path = fc.string({ unit: fc.constantFrom('a', 'b', '/', '*', '[', ']', '{', ',', '\u{1f600}') });
    fc.assert(
      fc.property(glob, path, (pattern, rest) => {
        fc.pre(!/\\(?:\/|$)|\*\/\*\*/.test(pattern) && pattern !== '');
        const names = `/${rest}`;
        const anchored = pattern.startsWith('/') ? pattern : `**/${pattern}`;
        expect(matchesPathGlob(pattern, names)).toBe(expressionOf(anchored).test(names));
      }),
      { numRuns: 10_000 },
    );
  });

  it('that is too complex matches everything if the rule asks or denies, and nothing if it allows', () => {
    const glob = 'a**'.repeat(30);
    expect(mayMatchPathGlob(glob, '/w/x')).toBe(true);
    expect(matchesPathGlob(glob, '/w/x')).toBe(false);
  });
});

describe('a hostile path or command', () => {
  it('does not make the decision slow', () => {
    const scope = { read: 'anywhere', write: [] } as const;
    const path = `/${'a/'.repeat(200_000)}b`;
    const write = { tool: 'write', file: { path, location: { real: path } } };
    expect(decidingRule(write, [{ path: '**/a*/**/*a*a/**/c', action: 'deny' }], scope)).toBeUndefined();
    const command = { tool: 'bash', step: { text: 'a'.repeat(100_000) } };
    expect(decidingRule(command, [{ command: '*a*a*a*a*b', action: 'deny' }], scope)).toBeUndefined();
  });
});

/** The meaning of a glob, as a regular expression. Only for short texts: it may take exponential time. */
function expressionOf(glob: string): RegExp {
  const source = [...glob.matchAll(/\/\*\*$|\*\*\/|\*+|\?|\\?[\s\S]/gu)].map(([part]) => {
    if (part === '/**') return '(?:/.*)?';
    if (part === '**/') return '(?:.*/)?';
    if (/^\*+$/.test(part)) return part === '*' ? '[^/]*' : '.*';
    if (part === '?') return '[^/]';
    return part.slice(-1).replace(/[\\^$.*+?()[\]{}|/]/u, String.raw`\$&`);
  });
  return new RegExp(`^${source.join('')}$`, 'su');
}
