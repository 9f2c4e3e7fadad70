import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatBytes, withoutPartialEnd, withoutPartialStart } from '../../src/tools/text/shorten.ts';
import { OutputWindow } from '../../src/tools/process/output-window.ts';

const mark = (missing: number): string => `[${missing}]`;

function windowWith(pieces: readonly string[], head = 20, tail = 30): OutputWindow {
  const window = new OutputWindow(head, tail);
  for (const piece of pieces) window.add(Buffer.from(piece));
  return window;
}

describe('a window of an output', () => {
  test('contains all that fits, for any chunking', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary-ascii', maxLength: 10 })), (pieces) => {
        const text = pieces.join('').slice(0, 50);
        const window = windowWith(text.match(/.{1,7}/gs) ?? []);
        expect(window.text(mark)).toBe(text);
        expect(window.all().toString()).toBe(text);
        expect(window.end(10)).toBe(text.slice(-10));
      }),
    );
  });

  test('contains the beginning and the end of what does not fit', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 120 })), (pieces) => {
        const text = pieces.join('');
        fc.pre(text.length > 50);
        const window = windowWith(pieces);
        expect(window.total).toBe(text.length);
        expect(window.text(mark)).toBe(`${text.slice(0, 20)}\n[${text.length - 50}]\n${text.slice(-30)}`);
        expect(window.end(30)).toBe(text.slice(-30));
      }),
    );
  });

  test('prefers whole lines, and never contains half a character', () => {
    const window = windowWith(['123456789 123\n789日本語', 'x'.repeat(500), '\n345678901\n345678901234567']);
    expect(window.text(mark)).toBe('123456789 123\n[513]\n345678901\n345678901234567');
    const text = windowWith(['日本語'.repeat(100)]).text(mark);
    expect(text).toMatch(/^[日本語]+\n\[\d+\]\n[日本語]+$/);
  });
});

test('partial characters are removed, whole ones stay', () => {
  const bytes = Buffer.from('aé日😀');
  for (let end = 0; end <= bytes.length; end += 1) {
    const start = Buffer.from(withoutPartialEnd(bytes.subarray(0, end))).toString();
    const rest = Buffer.from(withoutPartialStart(bytes.subarray(end))).toString();
    expect('aé日😀'.startsWith(start) && 'aé日😀'.endsWith(rest)).toBe(true);
    expect(Buffer.byteLength(start) > end - 4).toBe(true);
  }
});

test('sizes are formatted with few digits', () => {
  expect([0, 999, 1_000, 1_500, 12_345, 3_750_000, 2e9].map(formatBytes)).toEqual([
    '0 B',
    '999 B',
    '1 KB',
    '1.5 KB',
    '12 KB',
    '3.8 MB',
    '2 GB',
  ]);
});
