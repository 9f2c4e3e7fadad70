import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineReader } from '../../src/wire/index.ts';
import { splitBytes, pushAll } from './chunks.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

describe('lineReader', () => {
  it('splits lines at LF and removes CR, blank lines and a byte order mark', () => {
    expect(pushAll(lineReader(), [bytes('\uFEFFone\r\n\n\ntwo\nthree')])).toEqual(['one', 'two', 'three']);
  });

  it('keeps U+2028 and a CR inside a line', () => {
    expect(pushAll(lineReader(), [bytes('{"a":"\u2028"}\nx\ry\n')])).toEqual(['{"a":"\u2028"}', 'x\ry']);
  });

  it('returns the same lines for any chunking', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.array(fc.nat(64)), (text, cuts) => {
        const expected = pushAll(lineReader(), [bytes(text)]);
        expect(pushAll(lineReader(), splitBytes(bytes(text), cuts))).toEqual(expected);
      }),
    );
  });

  it('rejects an endless line', () => {
    const reader = lineReader(1000);
    expect(() => {
      for (let i = 0; i < 10; i++) reader.push(bytes('x'.repeat(200)));
    }).toThrow('a line is longer than 1000 characters');
  });
});
