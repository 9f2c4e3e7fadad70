import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDiff, splitLines } from '../../src/tools/text/diff.ts';
import { toolFixture } from './fixture.ts';

const lines = fc
  .tuple(fc.array(fc.constantFrom('a', 'b', 'c', '', 'd\r'), { maxLength: 30 }), fc.constantFrom('', '\n'))
  .map(([parts, end]) => parts.join('\n') + (parts.length > 0 ? end : ''));

describe('a diff', () => {
  test('of equal texts is empty', async () => {
    expect(await createDiff('a', 'x\n', 'x\n')).toEqual({ text: '', added: 0, removed: 0 });
  });

  test('shows three context lines and merges nearby changes', async () => {
    const before = Array.from({ length: 30 }, (_, index) => `${index + 1}\n`);
    const after = before.map((line) => (['10\n', '14\n', '25\n'].includes(line) ? `new ${line}` : line));
    const { text } = await createDiff('n.txt', before.join(''), after.join(''));
    expect(text).toBe(`--- a/n.txt
+++ b/n.txt
@@ -7,11 +7,11 @@
 7
 8
 9
-10
+new 10
 11
 12
 13
-14
+new 14
 15
 16
 17
@@ -22,7 +22,7 @@
 22
 23
 24
-25
+new 25
 26
 27
 28
`);
  });

  test('marks a last line without a line break', async () => {
    const { text } = await createDiff('a', 'x\ny', 'x\ny\n');
    expect(text).toBe('--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n x\n-y\n\\ No newline at end of file\n+y\n');
  });

  test('applied to the old text gives the new one', async () => {
    await fc.assert(
      fc.asyncProperty(lines, lines, async (before, after) => {
        const { text, added, removed } = await createDiff('f', before, after);
        expect(applyDiff(before, text)).toBe(after);
        expect(splitLines(after).length - splitLines(before).length).toBe(added - removed);
      }),
      { numRuns: 1_000 },
    );
  });

  test('is minimal', async () => {
    await fc.assert(
      fc.asyncProperty(lines, lines, async (before, after) => {
        const { added, removed } = await createDiff('f', before, after);
        const [old, now] = [splitLines(before), splitLines(after)];
        expect(added + removed).toBe(old.length + now.length - 2 * longestCommon(old, now));
      }),
      { numRuns: 300 },
    );
  });

  test('is correct, though longer, beyond its bound', async () => {
    await fc.assert(
      fc.asyncProperty(lines, lines, async (before, after) => {
        const { text, added, removed } = await createDiff('f', before, after, 2);
        expect(applyDiff(before, text)).toBe(after);
        expect(splitLines(after).length - splitLines(before).length).toBe(added - removed);
      }),
      { numRuns: 1_000 },
    );
  });

  test('shows the removed lines of a change before its added lines', async () => {
    await fc.assert(
      fc.asyncProperty(lines, lines, async (before, after) => {
        const { text } = await createDiff('f', before, after);
        expect(text.split('\n').slice(2).join('\n')).not.toMatch(/^\+.*\n(?:\\.*\n)?-/m);
      }),
      { numRuns: 1_000 },
    );
  });

  test('is accepted by git', async () => {
    const fixture = toolFixture({ 'a.txt': 'one\ntwo\nthree\r\nfour' });
    const after = 'zero\none\nthree\r\nfour\nfive';
    const { text } = await createDiff('a.txt', fixture.text('a.txt'), after);
    execFileSync('git', ['apply', '-'], { cwd: fixture.directory, input: text });
    expect(fixture.text('a.txt')).toBe(after);
  });

  test.each([
    ['with a few changes', (index: number) => index % 500 === 0],
    ['with every line changed', () => true],
    ['with every second line changed', (index: number) => index % 2 === 0],
  ])('of 20,000 lines %s does not take quadratic time', async (_, isChanged) => {
    const before = Array.from({ length: 20_000 }, (__, index) => `line ${index}\n`);
    const after = before.map((line, index) => (isChanged(index) ? `new ${line}` : line)).join('');
    const { text } = await createDiff('f', before.join(''), after);
    expect(applyDiff(before.join(''), text)).toBe(after);
  });
});

test('the diff of two unrelated texts of 100,000 lines is bounded', async () => {
  const [before, after] = ['old', 'new'].map((word) =>
    Array.from({ length: 100_000 }, (_, index) => `${word} ${index}\n`).join(''),
  );
  const { text, added, removed } = await createDiff('f', before, after ?? '');
  expect([added, removed]).toEqual([100_000, 100_000]);
  expect(text.startsWith('--- a/f\n+++ b/f\n@@ -1,100000 +1,100000 @@\n-old 0\n-old 1\n')).toBe(true);
});

/** A minimal `patch`: it trusts the line numbers and checks every line. */
function applyDiff(before: string, diff: string): string {
  const old = splitLines(before);
  const result: string[] = [];
  let at = 0;
  const body = splitLines(diff).slice(2);
  for (const [index, line] of body.entries()) {
    const [, start, length] = /^@@ -(\d+)(?:,(\d+))? /.exec(line) ?? [];
    const unbroken = body[index + 1]?.startsWith('\\') ? line.slice(1, -1) : line.slice(1);
    if (start !== undefined) {
      const from = Number(start) - (length === '0' ? 0 : 1);
      result.push(...old.slice(at, from));
      at = from;
    } else if (line.startsWith('+')) result.push(unbroken);
    else if (!line.startsWith('\\')) {
      expect(old[at]).toBe(unbroken);
      if (line.startsWith(' ')) result.push(unbroken);
      at += 1;
    }
  }
  return [...result, ...old.slice(at)].join('');
}

function longestCommon(one: readonly string[], other: readonly string[]): number {
  let row = [0, ...other.map(() => 0)];
  for (const line of one) {
    const next = [0];
    for (const [index, otherLine] of other.entries())
      next.push(line === otherLine ? (row[index] ?? 0) + 1 : Math.max(row[index + 1] ?? 0, next[index] ?? 0));
    row = next;
  }
  return row.at(-1) ?? 0;
}
