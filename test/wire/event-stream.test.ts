import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { tryParse } from '../../src/base/index.ts';
import { encodeEventStream, eventStreamReader } from '../../src/wire/index.ts';
import { everyByte, pushAll, splitBytes } from './chunks.ts';

const event = (type: string, body: string) =>
  encodeEventStream(
    { ':message-type': 'event', ':event-type': type, ':content-type': 'application/json' },
    body,
  );
const read = (...pieces: readonly Uint8Array[]) => pushAll(eventStreamReader(), pieces);
const STREAM = Buffer.concat([
  event('messageStart', '{"role":"assistant"}'),
  event('contentBlockDelta', '{"delta":{"text":"Grüße 🐙"}}'),
  event('messageStop', '{}'),
]);
const PAYLOADS = [
  '{"messageStart":{"role":"assistant"}}',
  '{"contentBlockDelta":{"delta":{"text":"Grüße 🐙"}}}',
  '{"messageStop":{}}',
];

/** Writes a message by hand: lengths and checksums of the given parts, which need not fit. */
function message(headers: Buffer, body: Buffer, { length = 16 + headers.length + body.length } = {}): Buffer {
  const prelude = Buffer.alloc(12);
  prelude.writeUInt32BE(length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const content = Buffer.concat([prelude, headers, body]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(content));
  return Buffer.concat([content, checksum]);
}

describe('an event stream', () => {
  test('becomes payloads with the type of the message as their key', () => {
    expect(read(STREAM)).toEqual(PAYLOADS);
  });

  test('becomes the same payloads for any chunking', () => {
    expect(read(...everyByte(STREAM))).toEqual(PAYLOADS);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 60 })), (lengths) => {
        expect(read(...splitBytes(STREAM, lengths))).toEqual(PAYLOADS);
      }),
    );
  });

  test('carries exceptions by their type, and errors outside the model of the service', () => {
    const exception = encodeEventStream(
      { ':message-type': 'exception', ':exception-type': 'throttlingException' },
      '{"message":"wait"}',
    );
    const error = encodeEventStream(
      { ':message-type': 'error', ':error-code': 'InternalError', ':error-message': 'it "failed"' },
      '',
    );
    expect(read(exception, error)).toEqual([
      '{"throttlingException":{"message":"wait"}}',
      '{"error":{"code":"InternalError","message":"it \\"failed\\""}}',
    ]);
  });

  test('escapes a type that is not a name', () => {
    expect(read(event('a":{},"b', '{}')).map((payload) => tryParse(payload))).toEqual([{ 'a":{},"b': {} }]);
  });

  test('accepts a message of several megabytes that arrives in many pieces', () => {
    const text = 'x'.repeat(5_000_000);
    const bytes = event('big', JSON.stringify(text));
    const pieces = splitBytes(
      bytes,
      Array.from({ length: 4000 }, () => 1000),
    );
    expect(read(...pieces)).toEqual([`{"big":${JSON.stringify(text)}}`]);
  });

  test('reports text outside the framing as stray, up to a limit', () => {
    const reader = eventStreamReader();
    expect(pushAll(reader, [STREAM, Buffer.from('{\n  "message": '), Buffer.from('"no"\n}')])).toEqual(
      PAYLOADS,
    );
    expect(reader.stray?.()).toBe('{\n  "message": "no"\n}');
    const endless = eventStreamReader();
    for (let n = 0; n < 100; n += 1) endless.push(Buffer.alloc(10_000, '{'));
    expect(endless.stray?.().length).toBe(64 * 1024);
  });
});

describe('a damaged event stream', () => {
  const damaged = (payload: string | undefined) => tryParse(payload ?? '');
  const DAMAGE = { error: { code: 'damaged_stream', message: expect.stringContaining('is damaged: ') } };

  test.each<[string, Uint8Array]>([
    ['a wrong checksum of the message', Buffer.concat([STREAM.subarray(0, -1), Buffer.from([0x5a])])],
    ['a wrong checksum of the lengths', flipped(message(Buffer.alloc(0), Buffer.from('{}')), 9)],
    ['a message shorter than its own framing', message(Buffer.alloc(0), Buffer.alloc(0), { length: 15 })],
    [
      'a message longer than the limit',
      message(Buffer.alloc(0), Buffer.alloc(0), { length: 16 * 1024 * 1024 + 1 }),
    ],
    ['the largest length', Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])],
    ['headers that end inside a value', message(Buffer.from([1, 0x61, 7, 0xff, 0xff]), Buffer.from('{}'))],
    ['a header of an unknown type', message(Buffer.from([1, 0x61, 99, 0, 0]), Buffer.from('{}'))],
  ])('is reported once, then ignored: %s', (_what, bytes) => {
    const payloads = read(bytes, STREAM, STREAM);
    expect(damaged(payloads.at(-1))).toEqual(DAMAGE);
    expect(payloads.filter((payload) => payload.includes('damaged_stream'))).toHaveLength(1);
  });

  test('ends without a payload in the middle of a message', () => {
    for (let length = 0; length < STREAM.length; length += 1)
      expect(PAYLOADS).toEqual(expect.arrayContaining([...read(STREAM.subarray(0, length))]));
  });

  test('never throws, for any bytes and any flipped byte', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), fc.nat(STREAM.length - 1), (noise, at) => {
        read(noise);
        const payloads = read(flipped(STREAM, at));
        expect(payloads.length).toBeLessThanOrEqual(PAYLOADS.length);
      }),
      { numRuns: 500 },
    );
  });

  test('keeps at most one message in memory while its end is missing', () => {
    const reader = eventStreamReader();
    const start = message(Buffer.alloc(0), Buffer.alloc(0), { length: 16 * 1024 * 1024 });
    expect(reader.push(start.subarray(0, 12))).toEqual([]);
    const before = process.memoryUsage().arrayBuffers;
    for (let n = 0; n < 100_000; n += 1) reader.push(Buffer.from('abcdefgh'));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
  });
});

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 0x80;
  return copy;
}
