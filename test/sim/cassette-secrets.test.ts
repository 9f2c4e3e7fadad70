import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Cassette } from '../../src/sim/cassettes/cassette.ts';
import { encodeCassette } from '../../src/sim/cassettes/cassette.ts';
import { redactCassette } from '../../src/sim/cassettes/cassette-secrets.ts';
import { recordingTransport } from '../../src/sim/cassettes/record.ts';
import { replayTransport } from '../../src/sim/cassettes/replay.ts';
import { httpTransport } from '../../src/wire/index.ts';
import { cassettesIn, dribble, filesIn, exchange, cassetteFixture } from './cassette-fixture.ts';

const { folder, serve } = cassetteFixture();
const KEY = 'my own odd/key "quoted" ü';
const HEADER_KEY = 'header-credential-77';

function quoting(...pieces: readonly string[]): Cassette {
  return {
    recordedAt: '2026-11-02T09:30:00.000Z',
    request: { method: 'GET', url: 'http://x/', headers: {} },
    response: {
      status: 401,
      headers: {},
      chunks: pieces.map((piece, index) => ({
        atMs: index,
        bytes: new Uint8Array(Buffer.from(piece, 'latin1')),
      })),
    },
  };
}

function chunkTexts({ response }: Cassette): readonly (readonly [number, string])[] {
  return 'status' in response
    ? response.chunks.map(({ atMs, bytes }) => [atMs, Buffer.from(bytes).toString('latin1')] as const)
    : [];
}

describe('secrets', () => {
  test('are removed from the file, also where the provider quotes them', async () => {
    const server = await serve((incoming, response) => {
      response.writeHead(401, { 'set-cookie': 'session=abcdefgh', 'x-echo': HEADER_KEY, 'x-kept': 'yes' });
      const key = String(incoming.headers['x-api-key']);
      response.end(
        JSON.stringify({ error: { message: `wrong: ${key}, ${KEY}, sk-ant-api03-${'z'.repeat(30)}` } }),
      );
    });
    const directory = await folder();
    const recorder = recordingTransport(httpTransport, { directory, secrets: [KEY] });
    const request = {
      method: 'POST',
      url: `${server.url}/v1/${encodeURIComponent(KEY)}?alt=sse&key=query-credential-77`,
      headers: {
        'x-api-key': HEADER_KEY,
        authorization: 'Bearer bearer-credential-77',
        cookie: 'a=cookie-credential-77',
        'anthropic-version': '2023-06-01',
      },
      body: JSON.stringify({
        model: KEY,
        note: `see ${KEY} and bearer-credential-77`,
        query: 'query-credential-77',
      }),
    } as const;
    const live = await exchange(recorder, request);
    await recorder.settled();
    const files = JSON.stringify(await filesIn(directory));
    for (const secret of ['credential-77', 'odd/key', encodeURIComponent(KEY), 'sk-ant-', 'abcdefgh'])
      expect(files).not.toContain(secret);
    const [cassette] = await cassettesIn(directory);
    expect(cassette?.request).toEqual({
      method: 'POST',
      url: `${server.url}/v1/[redacted]?alt=sse`,
      headers: { 'anthropic-version': '2023-06-01' },
      body: { model: '[redacted]', note: 'see [redacted] and [redacted]', query: '[redacted]' },
    });
    expect(cassette?.response).toMatchObject({ headers: { 'x-echo': '[redacted]', 'x-kept': 'yes' } });
    expect(live.pieces.join('')).toContain(Buffer.from(HEADER_KEY).toString('hex'));

    // Redacted values are ignored by the lookup: a different key finds the recording too.
    const replay = replayTransport({ directory, timing: 'instant' });
    const replayed = await exchange(replay, {
      ...request,
      url: `${server.url}/v1/another?alt=sse`,
      headers: {},
      body: JSON.stringify({ query: 'q', note: 'see this and that', model: 'm' }),
    });
    expect(Buffer.from(replayed.pieces.join(''), 'hex').toString()).toBe(
      JSON.stringify({ error: { message: 'wrong: [redacted], [redacted], [redacted]' } }),
    );
  });

  test('are found if the provider quotes them byte by byte', async () => {
    const server = await serve(async (_, response) => {
      await dribble(response, `no: ${HEADER_KEY}!`);
      response.end();
    });
    const directory = await folder();
    const recorder = recordingTransport(httpTransport, { directory, secrets: [] });
    const request = { method: 'GET', url: server.url, headers: { 'api-key': HEADER_KEY } } as const;
    await exchange(recorder, request);
    await recorder.settled();
    const replayed = await exchange(replayTransport({ directory, timing: 'instant' }), request);
    expect(replayed.pieces.map((piece) => Buffer.from(piece, 'hex').toString())).toEqual([
      'n',
      'o',
      ':',
      ' ',
      '[redacted]',
      '!',
    ]);
  });

  test('merge only the chunks whose boundaries cut through them', () => {
    const clean = redactCassette(quoting('a', 'b se', 'cret', '-1 c', '\u00ff', 'x secret-1 y', 'd'), [
      'secret-1',
    ]);
    expect(chunkTexts(clean)).toEqual([
      [0, 'a'],
      [3, 'b [redacted] c'],
      [4, '\u00ff'],
      [5, 'x [redacted] y'],
      [6, 'd'],
    ]);
  });

  test('are removed for any chunking of a response', () => {
    const secret = 'credential-99';
    const words = fc.array(
      fc.oneof(fc.constant(secret), fc.constant('cred'), fc.constant('ential-9'), fc.string()),
    );
    fc.assert(
      fc.property(words, fc.array(fc.nat(12), { minLength: 1 }), (parts, sizes) => {
        const text = Buffer.from(parts.join('')).toString('latin1');
        const pieces: string[] = [];
        for (let start = 0, turn = 0; start < text.length; turn += 1) {
          const size = 1 + (sizes[turn % sizes.length] ?? 0);
          pieces.push(text.slice(start, start + size));
          start += size;
        }
        const clean = chunkTexts(redactCassette(quoting(...pieces), [secret]));
        expect(clean.map(([, piece]) => piece).join('')).toBe(text.replaceAll(secret, '[redacted]'));
        expect(clean.map(([at]) => at)).toEqual(clean.map(([at]) => at).toSorted((a, b) => a - b));
      }),
    );
  });

  test('leave a response without secrets unchanged', () => {
    const before = quoting('plain', '', ' text');
    expect(encodeCassette(redactCassette(before, ['secret-1']))).toBe(encodeCassette(before));
  });

  test('do not include the rate limit headers', () => {
    const headers = { 'x-ratelimit-remaining-tokens': '9', 'anthropic-ratelimit-input-tokens-limit': '8' };
    const { response } = redactCassette({ ...quoting(), response: { status: 200, headers, chunks: [] } }, []);
    expect(response).toEqual({ status: 200, headers, chunks: [] });
  });
});
