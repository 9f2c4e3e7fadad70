import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LineReader } from '../../src/wire/index.ts';
import { everyByte, splitBytes, pushAll } from './chunks.ts';

const bytes = (text: string) => Buffer.from(text);
const untrusted = (maxBytes: number) =>
  new LineReader({ limit: { maxBytes }, utf8: 'reject', onInvalid: ({ message }) => `! ${message}` });

/** What a reader returns for the same bytes in one chunk, whatever the chunks are. */
function expectSameLines(reader: () => LineReader<string>, content: Uint8Array, cuts: readonly number[]) {
  expect(pushAll(reader(), splitBytes(content, cuts))).toEqual(pushAll(reader(), everyByte(content)));
}

describe('LineReader', () => {
  it('splits lines at LF and removes CR, blank lines and a byte order mark', () => {
    expect(pushAll(new LineReader(), [bytes('\uFEFFone\r\n\n\ntwo\n \t\r\nthree')])).toEqual([
      'one',
      'two',
      'three',
    ]);
  });

  it('keeps U+2028, a CR inside a line and white space around a line', () => {
    expect(pushAll(new LineReader(), [bytes('{"a":"\u2028"}\nx\ry\n z \n')])).toEqual([
      '{"a":"\u2028"}',
      'x\ry',
      ' z ',
    ]);
  });

  it('replaces bytes that are not UTF-8', () => {
    const content = Buffer.concat([bytes('a'), Buffer.from([0xff, 0xe6, 0x97]), bytes('\nb\n')]);
    expect(pushAll(new LineReader(), [content])).toEqual(['a\ufffd\ufffd', 'b']);
    expect(pushAll(new LineReader(), everyByte(content))).toEqual(['a\ufffd\ufffd', 'b']);
  });

  it.each([
    ['that replaces', () => new LineReader<string>()],
    ['that rejects', () => untrusted(1_000)],
    ['of server-sent events', () => new LineReader<string>({ ends: 'any' })],
    [
      'with a limit',
      () => new LineReader<string>({ limit: { maxCharacters: 5 }, onInvalid: ({ message }) => message }),
    ],
  ])('%s returns the same lines for any chunking', (_, reader) => {
    const text = fc.string({
      unit: fc.oneof(fc.constantFrom('\n', '\r', '\r\n', ' '), fc.string({ unit: 'grapheme' })),
    });
    const content = fc.oneof(
      text.map(bytes),
      fc.uint8Array({ maxLength: 200 }),
      fc.array(fc.constantFrom(0x0a, 0x0d, 0xff, 0xe6, 0x97, 0x20)).map((list) => Uint8Array.from(list)),
    );
    fc.assert(
      fc.property(content, fc.array(fc.nat(64)), (each, cuts) => expectSameLines(reader, each, cuts)),
    );
  });

  it('returns what it returned before for pieces of any size, small and large', () => {
    const line = 'é'.repeat(20_000);
    const content = bytes(`${line}\n${line}`);
    for (const size of [1, 4_095, 4_096, 10_000, 65_536]) {
      const sizes = Array.from({ length: Math.floor(content.length / size) }, () => size);
      expect(pushAll(new LineReader(), splitBytes(content, sizes))).toEqual([line, line]);
    }
  });

  it('rejects a line that is not UTF-8 on its own, and returns the others as they were sent', () => {
    const content = Buffer.concat([
      bytes('{"a":"日本語"}\n\n  \r\nsecond\r\n\uFEFFthird\n'),
      Buffer.from([0xff, 0x0a]),
      bytes('last'),
    ]);
    for (let size = 1; size <= content.length; size += 1) {
      const sizes = Array.from({ length: Math.floor(content.length / size) }, () => size);
      expect(pushAll(untrusted(100), splitBytes(content, sizes))).toEqual([
        '{"a":"日本語"}',
        'second\r',
        'third',
        '! a line is not UTF-8',
        'last',
      ]);
    }
  });

  it('returns blank lines and ends lines at LF, CRLF or CR for server-sent events', () => {
    const content = bytes('\uFEFFa\r\rb\r\n\r\nc\n\nd');
    const expected = ['a', '', 'b', '', 'c', '', 'd'];
    expect(pushAll(new LineReader({ ends: 'any' }), [content])).toEqual(expected);
    expect(pushAll(new LineReader({ ends: 'any' }), everyByte(content))).toEqual(expected);
  });

  describe('with a limit', () => {
    it('throws if a line does not end', () => {
      const reader = new LineReader({ limit: { maxCharacters: 1000 } });
      expect(() => {
        for (let i = 0; i < 10; i++) reader.push(bytes('x'.repeat(200)));
      }).toThrow('a line is longer than 1000 characters');
      const untrustedReader = new LineReader({ limit: { maxBytes: 10 } });
      expect(untrustedReader.push(bytes('0123456789\n0123456789'))).toEqual(['0123456789']);
      expect(() => untrustedReader.push(bytes('x'))).toThrow('a line is longer than 10 bytes');
    });

    it('reports a line that is too long once, in its place, and skips it up to its end', () => {
      const problem = '! a line is longer than 10 bytes';
      const content = bytes(`one\n${'x'.repeat(25)}\ntwo\n${'y'.repeat(11)}\n${'z'.repeat(11)}`);
      for (let size = 1; size <= content.length; size += 1) {
        const sizes = Array.from({ length: Math.floor(content.length / size) }, () => size);
        expect(pushAll(untrusted(10), splitBytes(content, sizes))).toEqual([
          'one',
          problem,
          'two',
          problem,
          problem,
        ]);
      }
    });

    it('in characters counts characters, not bytes', () => {
      const limited = () => new LineReader({ limit: { maxCharacters: 10 }, onInvalid: () => 'too long' });
      const content = bytes(`${'語'.repeat(10)}\n${'語'.repeat(11)}\n`);
      expect(pushAll(limited(), [content])).toEqual(['語'.repeat(10), 'too long']);
      expect(pushAll(limited(), everyByte(content))).toEqual(['語'.repeat(10), 'too long']);
    });
  });

  it('cuts one line and leaves the bytes after it to another reader', () => {
    const reader = new LineReader();
    expect(reader.cut(bytes('{"a"'))).toBeUndefined();
    expect(reader.cut(bytes(':1}\r\n\nrest'))).toEqual({ line: '{"a":1}', rest: bytes('\nrest') });
    expect(reader.cut(bytes('\nrest'))).toEqual({ line: '', rest: bytes('rest') });
    expect(reader.end()).toEqual([]);
  });
});
