import { describe, expect, it } from 'vitest';
import { PolypodError } from '../../src/base/index.ts';
import { ByteLines } from '../../src/wire/index.ts';

const describeLines = (lines: readonly (string | PolypodError)[]) =>
  lines.map((line) => (line instanceof PolypodError ? `! ${line.message}` : line));

describe('ByteLines', () => {
  it('returns the same lines for any chunking', () => {
    const bytes = Buffer.concat([
      Buffer.from('{"a":"日本語"}\n\n  \r\nsecond\r\n'),
      Buffer.from([0xff, 0x0a]),
      Buffer.from('last'),
    ]);
    for (let size = 1; size <= bytes.length; size += 1) {
      const lines = new ByteLines(100);
      const received: (string | PolypodError)[] = [];
      for (let at = 0; at < bytes.length; at += size)
        received.push(...lines.push(bytes.subarray(at, at + size)));
      received.push(...lines.end());
      expect(describeLines(received)).toEqual([
        '{"a":"日本語"}',
        'second\r',
        '! a line is not UTF-8',
        'last',
      ]);
    }
  });

  it('throws if a line does not end', () => {
    const lines = new ByteLines(10);
    expect(lines.push(Buffer.from('0123456789\n0123456789'))).toEqual(['0123456789']);
    expect(() => lines.push(Buffer.from('x'))).toThrow('a line is longer than 10 bytes');
  });
});
