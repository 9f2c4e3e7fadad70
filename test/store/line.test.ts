import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { crc32c, sealRecords, verifyLine } from '../../src/store/index.ts';

const record = fc
  .dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue(), { minKeys: 1 })
  .map((value) => JSON.stringify(value));

function sealed(text: string): Buffer {
  return Buffer.from(sealRecords([text])).subarray(0, -1);
}

describe('crc32c', () => {
  it.each([
    // The check value of the CRC catalogue, and the test vectors of RFC 3720, B.4.
    ['the digits', Buffer.from('123456789'), 0xe3069283],
    ['zeros', Buffer.alloc(32), 0x8a9136aa],
    ['ones', Buffer.alloc(32, 255), 0x62a8ab43],
    ['rising bytes', Buffer.from(Array.from({ length: 32 }, (_, index) => index)), 0x46dd794e],
    ['falling bytes', Buffer.from(Array.from({ length: 32 }, (_, index) => 31 - index)), 0x113fdb5c],
    ['nothing', Buffer.alloc(0), 0],
  ])('of %s is correct', (_, bytes, sum) => {
    expect(crc32c(bytes)).toBe(sum);
  });

  it('is the same sixteen bytes at a time as bit by bit', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), fc.nat({ max: 20 }), (bytes, start) => {
        expect(crc32c(bytes, start, bytes.length)).toBe(bitByBit(bytes.subarray(start)));
      }),
    );
  });
});

describe('a line', () => {
  it('ends with the checksum of the rest of the line', () => {
    const sum = crc32c(Buffer.from('{"a":1}')).toString(16).padStart(8, '0');
    expect(Buffer.from(sealRecords(['{"a":1}'])).toString()).toBe(`{"a":1,"crc":"${sum}"}\n`);
  });

  it('is the record as JSON, with one additional key', () => {
    fc.assert(
      fc.property(record, (text) => {
        const value = JSON.parse(sealed(text).toString());
        expect(
          Object.keys(value)
            .filter((key) => !/^\d+$/.test(key))
            .at(-1),
        ).toBe('crc');
        expect(verifyLine(sealed(text))).toBe('ok');
      }),
    );
  });

  it('is corrupt after any bit flip', () => {
    fc.assert(
      fc.property(record, fc.nat(), (text, seed) => {
        const line = sealed(text);
        const bit = seed % (line.length * 8);
        line[bit >> 3] = (line[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        expect(verifyLine(line)).toBe('corrupt');
      }),
      { numRuns: 1000 },
    );
  });

  it('is corrupt wherever it is cut', () => {
    const line = sealed('{"text":"{\\"a\\":1}","more":{"b":[1,2,{}]}}');
    const verdicts = Array.from({ length: line.length }, (_, length) => verifyLine(line.subarray(0, length)));
    expect(new Set(verdicts)).toEqual(new Set(['corrupt']));
  });

  it.each([
    ['{"type":"message","id":"a1"}', 'unverified'],
    ['{"src":"deadbeef"}', 'unverified'],
    ['{"a":1,"src":"deadbeef"}', 'unverified'],
    ['{}', 'unverified'],
    ['[1]', 'corrupt'],
    ['{"a":1', 'corrupt'],
    ['', 'corrupt'],
    ['\0\0\0\0', 'corrupt'],
    ['{"a":1,"crc":"00000000"}', 'corrupt'],
    ['{"a":1,"crc":"zzzzzzzz"}', 'corrupt'],
  ])('of another program is checked for valid JSON: %j is %s', (text, verdict) => {
    expect(verifyLine(Buffer.from(text))).toBe(verdict);
  });
});

function bitByBit(bytes: Uint8Array): number {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum & 1) === 1 ? (sum >>> 1) ^ 0x82f63b78 : sum >>> 1;
  }
  return ~sum >>> 0;
}
