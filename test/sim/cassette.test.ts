import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PolypodError } from '../../src/base/index.ts';
import { type Cassette, encodeCassette, type RecordedResponse } from '../../src/sim/cassettes/cassette.ts';
import { parseCassette } from '../../src/sim/cassettes/cassette-reader.ts';

const request = {
  method: 'POST',
  url: 'https://api.example.com/v1/messages',
  headers: { 'content-type': 'application/json' },
  body: { model: 'm', messages: [] },
} as const;

function cassette(response: RecordedResponse): Cassette {
  return { recordedAt: '2026-11-02T09:30:00.000Z', request, response };
}

function answer(...pieces: readonly Uint8Array[]): Cassette {
  const chunks = pieces.map((bytes, index) => ({ atMs: index * 10, bytes }));
  return cassette({ status: 200, headers: { 'content-type': 'text/event-stream' }, chunks });
}

function rewritten(change: (file: Record<string, unknown>) => void): string {
  const file: Record<string, unknown> = JSON.parse(
    encodeCassette(answer(new TextEncoder().encode('data: {}\n\n'))),
  );
  change(file);
  return JSON.stringify(file);
}

function refusal(text: string): unknown {
  try {
    return parseCassette(text, '0001-x.json');
  } catch (thrown) {
    return thrown;
  }
}

describe('a cassette file', () => {
  test('preserves any chunks exactly', () => {
    const pieces = fc.array(
      fc.oneof(
        fc.uint8Array(),
        fc.string({ unit: 'binary' }).map((s) => new TextEncoder().encode(s)),
      ),
    );
    fc.assert(
      fc.property(pieces, (list) => {
        const before = answer(...list);
        expect(parseCassette(encodeCassette(before), 'x')).toEqual(before);
      }),
      { numRuns: 200 },
    );
  });

  test('is readable: text as text, one line per chunk, base64 only if necessary', () => {
    const octopus = new TextEncoder().encode('🐙');
    const text = encodeCassette(
      answer(new TextEncoder().encode('data: {"a":"ü"}\n\n'), octopus.subarray(0, 2), octopus.subarray(2)),
    );
    expect(text).toBe(`{
  "version": 1,
  "recordedAt": "2026-11-02T09:30:00.000Z",
  "request": {
    "method": "POST",
    "url": "https://api.example.com/v1/messages",
    "headers": {
      "content-type": "application/json"
    },
    "body": {
      "model": "m",
      "messages": []
    }
  },
  "response": {
    "status": 200,
    "headers": {
      "content-type": "text/event-stream"
    },
    "chunks": [
      { "atMs": 0, "text": "data: {\\"a\\":\\"ü\\"}\\n\\n" },
      { "atMs": 10, "base64": "8J8=" },
      { "atMs": 20, "base64": "kJk=" }
    ]
  }
}
`);
  });

  test('preserves a byte order mark at the start of a chunk', () => {
    const before = answer(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61));
    expect(parseCassette(encodeCassette(before), 'x')).toEqual(before);
  });

  test('preserves how an exchange failed', () => {
    const broken = { kind: 'broken', atMs: 7, message: 'read ECONNRESET', code: 'ECONNRESET' } as const;
    const stopped = { kind: 'stopped', atMs: 3, message: 'its reader stopped' } as const;
    for (const response of [{ error: broken }, { status: 200, headers: {}, chunks: [], error: stopped }]) {
      expect(parseCassette(encodeCassette(cassette(response)), 'x')).toEqual(cassette(response));
    }
  });
});

describe('an invalid cassette is rejected with its file, its field and the next step', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    [
      'a newer version',
      rewritten((file) => (file['version'] = 2)),
      '"version" is 2, and this Polypod reads version 1: update Polypod, or record the exchange again',
    ],
    [
      'no version',
      rewritten((file) => delete file['version']),
      '"version" is missing, must be 1: correct the file, or record the exchange again',
    ],
    [
      'a wrong type',
      rewritten((file) => (file['response'] = { status: 'ok', headers: {}, chunks: [] })),
      '"response.status" must be an HTTP status, not "ok": correct the file, or record the exchange again',
    ],
    [
      'a chunk with both text and base64',
      rewritten(
        (file) =>
          (file['response'] = { status: 200, headers: {}, chunks: [{ atMs: 0, text: 'a', base64: 'YQ==' }] }),
      ),
      '"response.chunks[0]" must be an object with either "text" or "base64", not {"atMs":0,"text":"a","base64":"YQ=="}: correct the file, or record the exchange again',
    ],
    [
      'invalid base64',
      rewritten(
        (file) => (file['response'] = { status: 200, headers: {}, chunks: [{ atMs: 0, base64: 'Y*==' }] }),
      ),
      '"response.chunks[0].base64" must be base64, not "Y*==": correct the file, or record the exchange again',
    ],
    [
      'an unknown field',
      rewritten((file) => (file['note'] = 'hi')),
      '"note" must be absent (allowed fields: version, recordedAt, request, response), not "hi": correct the file, or record the exchange again',
    ],
    ['a list', '[]', 'the file must be an object, not []: correct the file, or record the exchange again'],
  ];
  test.each(cases)('%s', (_, text, message) => {
    expect(refusal(text)).toEqual(new PolypodError('bad-request', `0001-x.json: ${message}`));
  });

  test('text that is not JSON', () => {
    const thrown = refusal('{"version": 1,');
    expect(thrown).toBeInstanceOf(PolypodError);
    expect(String(thrown)).toMatch(/0001-x\.json: not valid JSON \(.+\): correct the file, or record/);
  });
});
