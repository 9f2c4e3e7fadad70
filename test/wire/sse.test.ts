import { createParser } from 'eventsource-parser';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeSse, sseReader } from '../../src/wire/index.ts';
import { splitBytes, everyByte, pushAll } from './chunks.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

describe('sseReader', () => {
  it('returns only the data of each event', () => {
    const stream =
      ': hello\nevent: a\nid: 1\ndata: one\n\ndata:two\ndata: more\n\nretry: 5\n\ndata\n\ndatax: no\n\n';
    expect(pushAll(sseReader(), [bytes(stream)])).toEqual(['one', 'two\nmore']);
  });

  it.each(['\n', '\r\n', '\r'])('accepts %j as line end', (end) => {
    const stream = ['event: a', 'data: 1', '', 'data: 2', 'data: 3', '', ''].join(end);
    expect(pushAll(sseReader(), [bytes(stream)])).toEqual(['1', '2\n3']);
    expect(pushAll(sseReader(), everyByte(bytes(stream)))).toEqual(['1', '2\n3']);
  });

  it('returns a last event without a blank line after it', () => {
    expect(pushAll(sseReader(), [bytes('data: 1\n\ndata: 2')])).toEqual(['1', '2']);
  });

  it('decodes what encodeSse writes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'grapheme' }).map((text) => text.replace(/\r/g, ''))),
        (payloads) => {
          const stream = payloads.map((data, at) => encodeSse(data, at % 2 ? 'name' : undefined)).join('');
          expect(pushAll(sseReader(), [bytes(stream)])).toEqual(payloads.filter((data) => data !== ''));
        },
      ),
    );
  });

  it('agrees with eventsource-parser on any stream of complete events, for any chunking', () => {
    const field = fc.constantFrom('data', 'event', 'id', ':', 'data:', 'x');
    const line = fc.tuple(field, fc.constantFrom('', ': ', ':'), fc.string({ unit: 'grapheme' }));
    const ending = fc.constantFrom('\n', '\r\n', '\r');
    fc.assert(
      fc.property(fc.array(line), ending, fc.array(fc.nat(40)), (lines, end, cuts) => {
        const text = lines.map(([name, sep, value], at) => {
          const blank = at % 3 === 2 ? end : '';
          return `${name}${sep}${value.replace(/[\r\n]/g, '')}${end}${blank}`;
        });
        const stream = `${text.join('')}${end}${end}`;
        const expected: string[] = [];
        const oracle = createParser({ onEvent: ({ data }) => data !== '' && expected.push(data) });
        oracle.feed(stream);
        expect(pushAll(sseReader(), splitBytes(bytes(stream), cuts))).toEqual(expected);
      }),
      { numRuns: 500 },
    );
  });
});
