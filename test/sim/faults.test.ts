import { setTimeout } from 'node:timers/promises';
import { describe, expect, test, vi } from 'vitest';
import { tryParse } from '../../src/base/index.ts';
import {
  type SimAnswer,
  type Fault,
  type FaultKind,
  PROVIDER_APIS,
  type ProviderApiName,
} from '../../src/sim/index.ts';
import { responseBytes, FINISH, send, readUntil, open, streamPayloads, REQUESTS, streamText } from './raw.ts';
import { simStarter, thrownBy } from './sims.ts';

const start = simStarter();
const TEXT = 'one two three four five six seven';
const CUT_TEXT = 'one two ';

function answerWith(fault?: Fault): SimAnswer {
  return { parts: [{ text: TEXT }], pace: { chunkSize: 4 }, fault };
}

describe.each(PROVIDER_APIS)('with the %s API', (api) => {
  const question = REQUESTS[api]('Hello?', true);

  async function faulty(kind: FaultKind, more: Omit<Fault, 'kind'> = {}) {
    const sim = await start({ script: [answerWith({ kind, ...more })], now: () => 0 });
    return await send(sim, question);
  }

  test('sends the whole answer without a fault', async () => {
    const sim = await start({ script: [answerWith()] });
    const answer = await send(sim, question);
    expect(streamText(api, responseBytes(answer))).toBe(TEXT);
    expect(responseBytes(answer).toString()).toMatch(FINISH[api]);
    expect(answer.end).toBe('clean');
  });

  test('stall sends some deltas, then nothing, and keeps the connection open', async () => {
    const sim = await start({ script: [answerWith({ kind: 'stall' })] });
    const response = await open(sim, question);
    const received = await readUntil(
      response,
      (text) => streamText(api, Buffer.from(text, 'latin1')) === CUT_TEXT,
    );
    const more = readUntil(response, () => true).catch(() => 'it ended');
    expect(await Promise.race([more, setTimeout(50, 'silence')])).toBe('silence');
    expect(streamText(api, Buffer.from(received, 'latin1'))).toBe(CUT_TEXT);
    response.destroy();
  });

  test('stall-keepalive sends only keep-alives after some deltas', async () => {
    const sim = await start({ script: [answerWith({ kind: 'stall-keepalive', everyMs: 1 })] });
    const response = await open(sim, question);
    const keepAlives = KEEP_ALIVES[api];
    const all = await readUntil(response, (text) => (text.match(keepAlives) ?? []).length >= 3);
    expect(streamText(api, Buffer.from(all, 'latin1'))).toBe(CUT_TEXT);
    response.destroy();
  });

  test('cut breaks the connection in the middle of a frame', async () => {
    const answer = await faulty('cut');
    expect(answer.end).toBe('cut');
    expect(streamText(api, responseBytes(answer))).toBe(CUT_TEXT);
    expect(responseBytes(answer).toString()).not.toMatch(/\n$/);
  });

  test('cut applies after the given number of deltas, and before the finish at the latest', async () => {
    expect(streamText(api, responseBytes(await faulty('cut', { after: 0 })))).toBe('');
    expect(streamText(api, responseBytes(await faulty('cut', { after: 5 })))).toBe('one two three four f');
    expect(streamText(api, responseBytes(await faulty('cut', { after: 999 })))).toBe(TEXT);
  });

  test.each([TEXT, 'größer als €, länger als ¥, 🐙'])(
    'cut-utf8 ends inside a character of "%s"',
    async (text) => {
      const sim = await start({
        script: [{ parts: [{ text }], pace: { chunkSize: 9 }, fault: { kind: 'cut-utf8' } }],
      });
      const answer = await send(sim, question);
      expect(answer.end).toBe('clean');
      expect(() => new TextDecoder('utf-8', { fatal: true }).decode(responseBytes(answer))).toThrow();
    },
  );

  test('split-bytes sends the same bytes one by one', async () => {
    const split = await faulty('split-bytes');
    const sim = await start({ script: [answerWith()], now: () => 0 });
    const complete = await send(sim, question);
    expect(split.chunks.every((chunk) => chunk.length === 1)).toBe(true);
    expect(responseBytes(split)).toEqual(responseBytes(complete));
  });

  test('error-in-stream sends an error after some deltas', async () => {
    const answer = await faulty('error-in-stream');
    expect([answer.status, answer.end]).toEqual([200, 'clean']);
    expect(streamText(api, responseBytes(answer))).toBe(CUT_TEXT);
    expect(streamPayloads(api, responseBytes(answer)).at(-1)).toMatch(/"error"|response.failed|Exception/);
    expect(responseBytes(answer).toString()).not.toMatch(FINISH[api]);
  });

  test("bare-error sends an error outside the stream's framing", async () => {
    const answer = await faulty('bare-error');
    expect(answer.status).toBe(200);
    expect(responseBytes(answer).toString()).toMatch(
      BARE_ERRORS[api] ?? /\n\{\n {2}"(error|type)"[^]*\n\}\n$/,
    );
  });

  test('malformed-json breaks one payload and continues', async () => {
    const payloads = streamPayloads(api, responseBytes(await faulty('malformed-json')));
    const broken = payloads.filter((payload) => payload !== '[DONE]' && tryParse(payload) === undefined);
    expect(broken).toHaveLength(1);
    expect(payloads.at(-1)).toMatch(FINISH[api]);
  });

  test('missing-finish sends everything but the finish marker', async () => {
    const answer = await faulty('missing-finish');
    expect(streamText(api, responseBytes(answer))).toBe(TEXT);
    expect(responseBytes(answer).toString()).not.toMatch(FINISH[api]);
    expect(answer.end).toBe('clean');
  });

  test('duplicate-tool-ids gives two calls the same id', async () => {
    const text = responseBytes(await faulty('duplicate-tool-ids')).toString();
    const starts = [...text.matchAll(/"(?:call_id|id|toolUseId)":"call_duplicate"/g)];
    expect(starts.length).toBeGreaterThanOrEqual(2);
  });

  test('huge-frame sends one delta of several megabytes', async () => {
    const bytes = responseBytes(await faulty('huge-frame', { bytes: 3_000_000 }));
    const sizes = streamPayloads(api, bytes).map((payload) => payload.length);
    expect(Math.max(...sizes)).toBeGreaterThan(3_000_000);
    expect(streamText(api, bytes)).toHaveLength(TEXT.length + 3_000_000);
  });

  test('no-response accepts the request and never answers', async () => {
    const sim = await start({ script: [answerWith({ kind: 'no-response' })] });
    const answer = open(sim, question).catch(() => 'closed');
    await vi.waitFor(() => expect(sim.requests).toHaveLength(1), { timeout: 60_000 });
    expect(await Promise.race([answer, setTimeout(50, 'silence')])).toBe('silence');
    await sim.close();
    expect(await answer).toBe('closed');
  });

  test('hang-up closes the connection without a response', async () => {
    expect(await thrownBy(faulty('hang-up'))).toMatchObject({ code: 'ECONNRESET' });
  });

  test("html sends a proxy's page with status 200", async () => {
    const answer = await faulty('html');
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(responseBytes(answer).toString()).toMatch(/^<!doctype html>/);
  });

  test.each<[FaultKind, number]>([
    ['401', REJECTED_KEY[api] ?? 401],
    ['404', 404],
    ['429', 429],
    ['500', 500],
    ['529', 529],
    ['overloaded', api === 'anthropic' ? 529 : 503],
    ['context-too-long', 400],
  ])("%s returns status %i with the provider's own message", async (kind, status) => {
    const answer = await faulty(kind);
    expect(answer.status).toBe(status);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.headers['retry-after']).toBe(kind === '429' ? '1' : undefined);
    expect(JSON.parse(responseBytes(answer).toString())).toEqual(REFUSALS[api](kind));
  });

  test('a fault stops after the given number of requests', async () => {
    const sim = await start({ script: [answerWith({ kind: '500', times: 2 }), answerWith()] });
    const statuses = [];
    for (let n = 0; n < 4; n += 1) statuses.push((await send(sim, question)).status);
    expect(statuses).toEqual([500, 500, 200, 200]);
  });

  test('faults also apply to responses without streaming', async () => {
    const fault = (kind: FaultKind) => answerWith({ kind });
    const sim = await start({
      script: [fault('cut'), fault('malformed-json'), fault('error-in-stream'), answerWith()],
    });
    const complete = REQUESTS[api]('Hello?', false);
    expect((await send(sim, complete)).end).toBe('cut');
    expect(tryParse(responseBytes(await send(sim, complete)).toString())).toBeUndefined();
    expect((await send(sim, complete)).status).toBe(500);
    expect(responseBytes(await send(sim, complete)).toString()).toContain(TEXT);
  });
});

const KEEP_ALIVES: Record<ProviderApiName, RegExp> = {
  anthropic: /event: ping\ndata: \{"type": "ping"\}\n\n/g,
  'openai-chat': /: keep-alive\n\n/g,
  'openai-responses': /: keep-alive\n\n/g,
  gemini: /: keep-alive\n\n/g,
  ollama: /\n(?=\n)/g,
  bedrock: /ping/g,
};

/** The unframed error, where it does not start after the end of a line. */
const BARE_ERRORS: Partial<Record<ProviderApiName, RegExp>> = {
  bedrock: /\{\n {2}"message"[^]*\n\}\n$/,
};

/** The status for a wrong key, where it is not 401. */
const REJECTED_KEY: Partial<Record<ProviderApiName, number>> = { gemini: 400, bedrock: 403 };

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

const REFUSALS: Record<ProviderApiName, (kind: FaultKind) => object> = {
  anthropic: (kind) => ({ type: 'error', error: { type: ANTHROPIC[kind] ?? 'overloaded_error', message } }),
  'openai-chat': (kind) => openai(kind, 'messages'),
  'openai-responses': (kind) => openai(kind, 'input'),
  gemini: (kind) => ({ error: { message, ...(GEMINI[kind] ?? { code: 503, status: 'UNAVAILABLE' }) } }),
  ollama: () => ({ error: message }),
  bedrock: () => ({ message }),
};
