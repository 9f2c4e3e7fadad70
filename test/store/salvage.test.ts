import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isIncompleteRecord, salvage, sealRecords, verifyLine } from '../../src/store/index.ts';
import { correctOneByte } from '../../src/store/line.ts';

const record = fc
  .record({ type: fc.constant('x'), id: fc.string({ minLength: 1 }), text: fc.string({ unit: 'grapheme' }) })
  .map((value) => JSON.stringify(value));

const lineOf = (text: string): Buffer => Buffer.from(sealRecords([text]).subarray(0, -1));
const pieces = (bytes: Buffer) => salvage(bytes, { isAtEnd: true, isRecord: ({ type }) => type === 'x' });
const texts = (bytes: Buffer) =>
  pieces(bytes).flatMap((piece) => (piece.kind === 'record' ? [piece.text] : []));

describe('a line with a checksum', () => {
  it('is restored after any change of one byte', () => {
    fc.assert(
      fc.property(record, fc.nat(), fc.integer({ min: 1, max: 255 }), (text, position, change) => {
        const line = lineOf(text);
        const at = position % line.length;
        const damaged = Buffer.from(line);
        damaged[at] = (damaged[at] ?? 0) ^ change;
        expect(verifyLine(damaged)).not.toBe('ok');
        expect(Buffer.from(correctOneByte(damaged) ?? []).equals(line)).toBe(true);
      }),
    );
  });

  it('is not restored if more than one byte was changed', () => {
    fc.assert(
      fc.property(record, fc.array(fc.nat(), { minLength: 2, maxLength: 9 }), (text, positions) => {
        const line = lineOf(text);
        const damaged = Buffer.from(line);
        for (const position of positions) damaged[position % line.length] = 33;
        const found = correctOneByte(damaged);
        if (found !== undefined) expect(Buffer.from(found).equals(line)).toBe(true);
      }),
    );
  });

  it('is found between any other bytes', () => {
    const rest = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(rest, fc.array(record, { maxLength: 3 }), rest, (before, records, after) => {
        const lines = records.map(lineOf);
        for (const between of ['', '\n', '#'])
          expect(
            texts(Buffer.concat([before, ...lines.flatMap((line) => [line, Buffer.from(between)]), after])),
          ).toEqual(records);
      }),
    );
  });
});

describe('the end of a log', () => {
  it('is incomplete wherever a record was cut off, also inside a character', () => {
    fc.assert(
      fc.property(record, (text) => {
        const line = lineOf(text);
        for (let end = 1; end < line.length; end += 1) {
          expect(isIncompleteRecord(line.subarray(0, end))).toBe(true);
          expect(isIncompleteRecord(Buffer.concat([line.subarray(0, end), Buffer.alloc(7)]))).toBe(true);
        }
      }),
    );
  });

  it.each(['garbage', '{"a":1} more', '{"a":1}', '{"a":\u0001', '{a', '[1', '{"a":#', '"text'])(
    'is damaged, not unfinished, where it is %j',
    (text) => {
      expect(isIncompleteRecord(Buffer.from(text))).toBe(false);
    },
  );
});
