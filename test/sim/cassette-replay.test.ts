import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PolypodError } from '../../src/base/index.ts';
import { type Cassette, encodeCassette, type RecordedRequest } from '../../src/sim/cassettes/cassette.ts';
import { replayTransport } from '../../src/sim/cassettes/replay.ts';
import type { HttpRequest } from '../../src/wire/index.ts';
import { exchange, cassetteFixture, thrownBy } from './cassette-fixture.ts';

const { folder } = cassetteFixture();
const messages = [{ role: 'user', content: 'Hello there' }];

function cassette(text: string, request: Partial<RecordedRequest> = {}, atMs = 0): Cassette {
  const chunks = [{ atMs, bytes: new TextEncoder().encode(text) }];
  return {
    recordedAt: '2026-11-02T09:30:00.000Z',
    request: {
      method: 'POST',
      url: 'https://api.example.com/api/v1/messages',
      headers: {},
      body: { model: 'm', messages, temperature: 1 },
      ...request,
    },
    response: { status: 200, headers: {}, chunks },
  };
}

async function written(files: Readonly<Record<string, Cassette>>): Promise<string> {
  const directory = await folder();
  await mkdir(directory);
  for (const [name, one] of Object.entries(files))
    await writeFile(join(directory, name), encodeCassette(one));
  return directory;
}

function ask(body: object, url = 'https://api.example.com/api/v1/messages'): HttpRequest {
  return { method: 'POST', url, headers: {}, body: JSON.stringify(body) };
}

async function replayedText(
  replay: ReturnType<typeof replayTransport>,
  request: HttpRequest,
): Promise<string> {
  return Buffer.from((await exchange(replay, request)).pieces.join(''), 'hex').toString();
}

describe('a replay', () => {
  test('matches regardless of host, key order and query order', async () => {
    const url = 'https://a.example.com/v1/x?alt=sse&n=1';
    const directory = await written({ '0001-x.json': cassette('yes', { url }) });
    const replay = replayTransport({ directory, timing: 'instant' });
    const question = ask(
      { temperature: 1, messages, model: 'm' },
      'http://127.0.0.1:9/v1/x?n=1&alt=sse&key=abc',
    );
    expect(await replayedText(replay, question)).toBe('yes');
  });

  test('returns several matches in recording order, then repeats the last', async () => {
    const directory = await written({
      '10000-x.json': cassette('third'),
      '0002-x.json': cassette('second'),
      '0001-x.json': cassette('first'),
      '0003-other.json': cassette('other', { body: { model: 'n' } }),
    });
    const replay = replayTransport({ directory, timing: 'instant' });
    const question = ask({ model: 'm', messages, temperature: 1 });
    const answers = [];
    for (let turn = 0; turn < 5; turn += 1) answers.push(await replayedText(replay, question));
    expect(answers).toEqual(['first', 'second', 'third', 'third', 'third']);
  });

  test('replays only the given files', async () => {
    const directory = await written({ 'a.json': cassette('a'), 'b.json': cassette('b') });
    const replay = replayTransport({ files: [join(directory, 'b.json')], timing: 'instant' });
    expect(await replayedText(replay, ask({ model: 'm', messages, temperature: 1 }))).toBe('b');
  });

  const fields = { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 };
  const recorded = {
    '0001-x.json': cassette('far', { body: { model: 'n', stream: true } }),
    '0002-x.json': cassette('near'),
    '0003-x.json': cassette('elsewhere', {
      url: 'https://api.example.com/v9/count',
      body: { ...fields, model: 'm' },
    }),
  };
  const cases: readonly (readonly [string, HttpRequest, string])[] = [
    [
      'another text',
      ask({ model: 'm', temperature: 1, messages: [{ role: 'user', content: 'Hello you' }] }),
      'no recording of POST /api/v1/messages (m) matches: the closest is 0002-x.json, which differs in body.messages[0].content: recorded "Hello there", requested "Hello you"; record this exchange again, or send the request as recorded',
    ],
    [
      'an additional message',
      ask({ model: 'm', temperature: 1, messages: [...messages, { role: 'user', content: 'And?' }] }),
      'no recording of POST /api/v1/messages (m) matches: the closest is 0002-x.json, which differs in body.messages[1]: recorded nothing, requested {"role":"user","content":"And?"}; record this exchange again, or send the request as recorded',
    ],
    [
      'a missing field',
      ask({ model: 'm', messages }),
      'no recording of POST /api/v1/messages (m) matches: the closest is 0002-x.json, which differs in body.temperature: recorded 1, requested nothing; record this exchange again, or send the request as recorded',
    ],
    [
      'many additional fields, most of which a recording with another path has',
      ask({ ...fields, model: 'm', temperature: 1, messages }),
      'no recording of POST /api/v1/messages (m) matches: the closest is 0002-x.json, which differs in body.a: recorded nothing, requested 1; record this exchange again, or send the request as recorded',
    ],
    [
      'only another path',
      ask({ model: 'm', messages, temperature: 1 }, 'https://api.example.com/v9/count'),
      'no recording of POST /v9/count (m) matches: the closest is 0002-x.json, which differs in path: recorded "/api/v1/messages", requested "/v9/count"; record this exchange again, or send the request as recorded',
    ],
    [
      'another path, and a key in the text',
      ask({ model: `sk-ant-${'k'.repeat(20)}` }, 'https://api.example.com/v2/messages'),
      'no recording of POST /v2/messages ([redacted]) matches: the closest is 0001-x.json, which differs in path: recorded "/api/v1/messages", requested "/v2/messages"; record this exchange again, or send the request as recorded',
    ],
  ];
  test.each(cases)('reports what is missing and the closest recording: %s', async (_, request, message) => {
    const directory = await written(recorded);
    const replay = replayTransport({ directory, timing: 'instant' });
    expect(await thrownBy(exchange(replay, request))).toEqual(new PolypodError('not-found', message));
  });

  test('quotes long texts around the position where they diverge', async () => {
    const long = 'same '.repeat(100);
    const directory = await written({ '0001-x.json': cassette('yes', { body: { text: `${long}one` } }) });
    const replay = replayTransport({ directory, timing: 'instant' });
    const thrown = await thrownBy(exchange(replay, ask({ text: `${long}two` })));
    expect(String(thrown)).toContain(
      'body.text: recorded "…same same same one", requested "…same same same two"',
    );
  });

  test('applies the recorded delays only if configured', async () => {
    const question = ask({ model: 'm', messages, temperature: 1 });
    const short = await written({ '0001-x.json': cassette('yes', {}, 90) });
    const startedAt = performance.now();
    await replayedText(replayTransport({ directory: short, timing: 'recorded' }), question);
    // A timer may fire up to a millisecond early.
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(79);
    const long = await written({ '0001-x.json': cassette('yes', {}, 3_600_000) });
    expect(await replayedText(replayTransport({ directory: long, timing: 'instant' }), question)).toBe('yes');
  });

  test('stops on abort, also during a delay, and reports the connection as open', async () => {
    const directory = await written({ '0001-x.json': cassette('yes', {}, 60_000) });
    const controller = new AbortController();
    let opened = 0;
    const replay = replayTransport({ directory, timing: 'recorded' });
    const response = await replay(ask({ model: 'm', messages, temperature: 1 }), {
      signal: controller.signal,
      onOpen: () => {
        opened += 1;
      },
    });
    setTimeout(() => controller.abort(), 10);
    const thrown = await thrownBy(
      (async () => {
        for await (const _ of response.body) throw new Error('a piece came');
      })(),
    );
    expect(thrown).toMatchObject({ name: 'AbortError' });
    expect(opened).toBe(1);
  });

  test('reports the folder if it contains no recordings', async () => {
    const directory = await folder();
    const none = thrownBy(exchange(replayTransport({ directory, timing: 'instant' }), ask({})));
    expect(String(await none)).toContain(`cannot read recordings in ${directory}: `);
    await mkdir(directory);
    const empty = thrownBy(exchange(replayTransport({ directory, timing: 'instant' }), ask({})));
    expect(await empty).toEqual(
      new PolypodError('not-found', `no recordings in ${directory}: record an exchange first`),
    );
  });
});
