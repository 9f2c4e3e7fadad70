import { setTimeout } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { tryParse } from '../../src/base/index.ts';
import { type Answer, type Fault, type FaultKind, WIRES, type WireName } from '../../src/sim/index.ts';
import { bytesOf, FINISH, heard, heardUntil, opened, payloadsOf, QUESTION, textIn } from './raw.ts';
import { simStarter, thrownBy } from './sims.ts';

const start = simStarter();
const TEXT = 'one two three four five six seven';
const CUT_TEXT = 'one two ';

function spoken(fault?: Fault): Answer {
  return { parts: [{ text: TEXT }], pace: { chunkSize: 4 }, fault };
}

describe.each(WIRES)('on the %s wire', (wire) => {
  const question = QUESTION[wire]('Hello?', true);

  async function faulty(kind: FaultKind, more: Omit<Fault, 'kind'> = {}) {
    const sim = await start({ script: [spoken({ kind, ...more })], now: () => 0 });
    return await heard(sim, question);
  }

  test('without a fault everything arrives', async () => {
    const sim = await start({ script: [spoken()] });
    const answer = await heard(sim, question);
    expect(textIn(wire, bytesOf(answer))).toBe(TEXT);
    expect(bytesOf(answer).toString()).toMatch(FINISH[wire]);
    expect(answer.end).toBe('clean');
  });

  test('stall sends some deltas, then nothing, and stays open', async () => {
    const sim = await start({ script: [spoken({ kind: 'stall' })] });
    const response = await opened(sim, question);
    const begun = await heardUntil(response, (text) => textIn(wire, Buffer.from(text)) === CUT_TEXT);
    const more = heardUntil(response, () => true).catch(() => 'it ended');
    expect(await Promise.race([more, setTimeout(50, 'silence')])).toBe('silence');
    expect(textIn(wire, Buffer.from(begun))).toBe(CUT_TEXT);
    response.destroy();
  });

  test('stall-keepalive sends only keep-alives after some deltas', async () => {
    const sim = await start({ script: [spoken({ kind: 'stall-keepalive', everyMs: 1 })] });
    const response = await opened(sim, question);
    const keepAlives = KEEP_ALIVES[wire];
    const all = await heardUntil(response, (text) => (text.match(keepAlives) ?? []).length >= 3);
    expect(textIn(wire, Buffer.from(all))).toBe(CUT_TEXT);
    response.destroy();
  });

  test('cut breaks the connection in the middle of a frame', async () => {
    const answer = await faulty('cut');
    expect(answer.end).toBe('cut');
    expect(textIn(wire, bytesOf(answer))).toBe(CUT_TEXT);
    expect(bytesOf(answer).toString()).not.toMatch(/\n$/);
  });

  test('cut strikes after as many deltas as it is told, and before the finish at the latest', async () => {
    expect(textIn(wire, bytesOf(await faulty('cut', { after: 0 })))).toBe('');
    expect(textIn(wire, bytesOf(await faulty('cut', { after: 5 })))).toBe('one two three four f');
    expect(textIn(wire, bytesOf(await faulty('cut', { after: 999 })))).toBe(TEXT);
  });

  test.each([TEXT, 'größer als €, länger als ¥, 🐙'])(
    'cut-utf8 ends inside a character of "%s"',
    async (text) => {
      const sim = await start({
        script: [{ parts: [{ text }], pace: { chunkSize: 9 }, fault: { kind: 'cut-utf8' } }],
      });
      const answer = await heard(sim, question);
      expect(answer.end).toBe('clean');
      expect(() => new TextDecoder('utf-8', { fatal: true }).decode(bytesOf(answer))).toThrow();
    },
  );

  test('split-bytes sends the same bytes one by one', async () => {
    const split = await faulty('split-bytes');
    const sim = await start({ script: [spoken()], now: () => 0 });
    const whole = await heard(sim, question);
    expect(split.chunks.every((chunk) => chunk.length === 1)).toBe(true);
    expect(bytesOf(split)).toEqual(bytesOf(whole));
  });

  test('error-in-stream ends a good beginning with an error', async () => {
    const answer = await faulty('error-in-stream');
    expect([answer.status, answer.end]).toEqual([200, 'clean']);
    expect(textIn(wire, bytesOf(answer))).toBe(CUT_TEXT);
    expect(payloadsOf(wire, bytesOf(answer)).at(-1)).toMatch(/"error"|response.failed/);
    expect(bytesOf(answer).toString()).not.toMatch(FINISH[wire]);
  });

  test('bare-error leaves the framing of the stream', async () => {
    const answer = await faulty('bare-error');
    expect(answer.status).toBe(200);
    expect(bytesOf(answer).toString()).toMatch(/\n\{\n {2}"(error|type)"[^]*\n\}\n$/);
  });

  test('malformed-json breaks one payload and goes on', async () => {
    const payloads = payloadsOf(wire, bytesOf(await faulty('malformed-json')));
    const broken = payloads.filter((payload) => payload !== '[DONE]' && tryParse(payload) === undefined);
    expect(broken).toHaveLength(1);
    expect(payloads.at(-1)).toMatch(FINISH[wire]);
  });

  test('missing-finish says everything but that it is over', async () => {
    const answer = await faulty('missing-finish');
    expect(textIn(wire, bytesOf(answer))).toBe(TEXT);
    expect(bytesOf(answer).toString()).not.toMatch(FINISH[wire]);
    expect(answer.end).toBe('clean');
  });

  test('duplicate-tool-ids gives two calls one id', async () => {
    const text = bytesOf(await faulty('duplicate-tool-ids')).toString();
    const starts = [...text.matchAll(/"(?:call_)?id":"call_duplicate"/g)];
    expect(starts.length).toBeGreaterThanOrEqual(2);
  });

  test('huge-frame has one delta of several megabytes', async () => {
    const bytes = bytesOf(await faulty('huge-frame', { bytes: 3_000_000 }));
    const sizes = payloadsOf(wire, bytes).map((payload) => payload.length);
    expect(Math.max(...sizes)).toBeGreaterThan(3_000_000);
    expect(textIn(wire, bytes)).toHaveLength(TEXT.length + 3_000_000);
  });

  test('no-response accepts the request and never answers', async () => {
    const sim = await start({ script: [spoken({ kind: 'no-response' })] });
    const answer = opened(sim, question).catch(() => 'closed');
    await vi.waitFor(() => expect(sim.requests).toHaveLength(1), { timeout: 60_000 });
    expect(await Promise.race([answer, setTimeout(50, 'silence')])).toBe('silence');
    await sim.close();
    expect(await answer).toBe('closed');
  });

  test('hang-up closes the connection without an answer', async () => {
    expect(await thrownBy(faulty('hang-up'))).toMatchObject({ code: 'ECONNRESET' });
  });

  test("html is a proxy's page with status 200", async () => {
    const answer = await faulty('html');
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(bytesOf(answer).toString()).toMatch(/^<!doctype html>/);
  });

  test.each<[FaultKind, number]>([
    ['401', wire === 'gemini' ? 400 : 401],
    ['404', 404],
    ['429', 429],
    ['500', 500],
    ['529', 529],
    ['overloaded', wire === 'anthropic' ? 529 : 503],
    ['context-too-long', 400],
  ])('%s refuses with status %i in words of its own', async (kind, status) => {
    const answer = await faulty(kind);
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.headers['retry-after']).toBe(kind === '429' ? '1' : undefined);
    expect(JSON.parse(bytesOf(answer).toString())).toEqual(REFUSALS[wire](kind));
  });

  test('a fault wears off after as many requests as it is told', async () => {
    const sim = await start({ script: [spoken({ kind: '500', times: 2 }), spoken()] });
    const statuses = [];
    for (let n = 0; n < 4; n += 1) statuses.push((await heard(sim, question)).status);
    expect(statuses).toEqual([500, 500, 200, 200]);
  });

  test('faults strike answers in one piece too', async () => {
    const fault = (kind: FaultKind) => spoken({ kind });
    const sim = await start({
      script: [fault('cut'), fault('malformed-json'), fault('error-in-stream'), spoken()],
    });
    const whole = QUESTION[wire]('Hello?', false);
    expect((await heard(sim, whole)).end).toBe('cut');
    expect(tryParse(bytesOf(await heard(sim, whole)).toString())).toBeUndefined();
    expect((await heard(sim, whole)).status).toBe(500);
    expect(bytesOf(await heard(sim, whole)).toString()).toContain(TEXT);
  });
});

const KEEP_ALIVES: Record<WireName, RegExp> = {
  anthropic: /event: ping\ndata: \{"type": "ping"\}\n\n/g,
  'openai-chat': /: keep-alive\n\n/g,
  'openai-responses': /: keep-alive\n\n/g,
  gemini: /: keep-alive\n\n/g,
  ollama: /\n(?=\n)/g,
};

const message = expect.stringMatching(/./);
const OPENAI: Partial<Record<FaultKind, object>> = {
  '401': { type: 'invalid_request_error', code: 'invalid_api_key' },
  '404': { type: 'invalid_request_error', code: 'model_not_found' },
  '429': { type: 'requests', code: 'rate_limit_exceeded' },
  'context-too-long': { type: 'invalid_request_error', code: 'context_length_exceeded' },
};
const openai = (kind: FaultKind, param: string) => ({
  error: {
    message,
    param: kind === 'context-too-long' ? param : null,
    type: 'server_error',
    code: null,
    ...OPENAI[kind],
  },
});
const ANTHROPIC: Partial<Record<FaultKind, string>> = {
  '401': 'authentication_error',
  '404': 'not_found_error',
  '429': 'rate_limit_error',
  '500': 'api_error',
  'context-too-long': 'invalid_request_error',
};
const GEMINI: Partial<Record<FaultKind, object>> = {
  '401': {
    code: 400,
    status: 'INVALID_ARGUMENT',
    details: [expect.objectContaining({ reason: 'API_KEY_INVALID' })],
  },
  '404': { code: 404, status: 'NOT_FOUND' },
  '429': {
    code: 429,
    status: 'RESOURCE_EXHAUSTED',
    details: [expect.objectContaining({ retryDelay: '1s' })],
  },
  '500': { code: 500, status: 'INTERNAL' },
  'context-too-long': { code: 400, status: 'INVALID_ARGUMENT' },
};

const REFUSALS: Record<WireName, (kind: FaultKind) => object> = {
  anthropic: (kind) => ({ type: 'error', error: { type: ANTHROPIC[kind] ?? 'overloaded_error', message } }),
  'openai-chat': (kind) => openai(kind, 'messages'),
  'openai-responses': (kind) => openai(kind, 'input'),
  gemini: (kind) => ({ error: { message, ...(GEMINI[kind] ?? { code: 503, status: 'UNAVAILABLE' }) } }),
  ollama: () => ({ error: message }),
};
