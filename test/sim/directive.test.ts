import { describe, expect, test } from 'vitest';
import { objectOf, stringOf } from '../../src/base/index.ts';
import { DIRECTIVE_KEYS, type Sim, PROVIDER_APIS } from '../../src/sim/index.ts';
import { responseBytes, FINISH, payloadText, send, streamPayloads, REQUESTS, streamText } from './raw.ts';
import { simStarter } from './sims.ts';

const start = simStarter();

async function ask(sim: Sim, text: string) {
  return await send(sim, REQUESTS['openai-chat'](text, true));
}

async function rejection(sim: Sim, text: string): Promise<string> {
  const answer = await ask(sim, text);
  expect(answer.status).toBe(400);
  return stringOf(objectOf(objectOf(JSON.parse(responseBytes(answer).toString()))['error'])['message']);
}

describe('a directive in the prompt', () => {
  test.each(PROVIDER_APIS)('selects generated text in deltas of a given size (%s)', async (api) => {
    const sim = await start({ script: [] });
    const answer = await send(sim, REQUESTS[api]('Please. [[sim deltas=30 size=7]]', true));
    const text = streamText(api, responseBytes(answer));
    expect(text).toHaveLength(210);
    const deltas = streamPayloads(api, responseBytes(answer)).filter(
      (payload) => payloadText(api, payload) !== '',
    );
    expect(deltas).toHaveLength(30);
    expect(responseBytes(answer).toString()).toMatch(FINISH[api]);
  });

  test('combines several deltas into one write, with delays between writes', async () => {
    const sim = await start();
    const before = performance.now();
    const answer = await ask(sim, '[[sim deltas=32 size=5 batch=16 delay=20]]');
    expect(performance.now() - before).toBeGreaterThanOrEqual(38);
    const perWrite = answer.chunks.map((chunk) => streamText('openai-chat', chunk).length / 5);
    expect(perWrite.filter((count) => count > 0)).toEqual([16, 16]);
  });

  test('selects text, quoted if it contains spaces', async () => {
    const sim = await start();
    const answer = await ask(sim, "[[sim text='hello there' thinking=hm stop=max-tokens]] and more");
    expect(streamText('openai-chat', responseBytes(answer))).toBe('hello there');
    expect(responseBytes(answer).toString()).toMatch(/"reasoning_content":"hm"[^]*"finish_reason":"length"/);
  });

  test('selects tool calls, and a text answer after their results', async () => {
    const sim = await start();
    const prompt = `[[sim tool=read args='{"path":"a b"}' calls=2 interleave=1]]`;
    const firstAnswer = await ask(sim, prompt);
    expect(
      responseBytes(firstAnswer)
        .toString()
        .match(/"name":"read"/g),
    ).toHaveLength(2);
    const body = {
      model: 'm',
      stream: true,
      messages: [
        { role: 'user', content: prompt },
        { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'read', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: 'a', content: 'ok' },
      ],
    };
    const secondAnswer = await send(sim, { path: '/v1/chat/completions', body });
    expect(streamText('openai-chat', responseBytes(secondAnswer))).toBe('Done.');
  });

  test("without answer keys modifies the script's answer", async () => {
    const sim = await start({ script: [{ parts: [{ text: 'scripted words' }], pace: { chunkSize: 2 } }] });
    const answer = await ask(sim, '[[sim size=14 fault=missing-finish]]');
    expect(streamText('openai-chat', responseBytes(answer))).toBe('scripted words');
    expect(responseBytes(answer).toString()).not.toMatch(FINISH['openai-chat']);
    expect(
      responseBytes(answer)
        .toString()
        .match(/"content":"[^"]/g),
    ).toHaveLength(1);
  });

  test('selects a fault with its parameters, counted per prompt', async () => {
    const sim = await start();
    const limited = '[[sim fault=429 times=1 retry-after=9 text=fine]]';
    const statuses = [];
    for (const text of [limited, limited, `again ${limited}`, `again ${limited}`]) {
      statuses.push((await ask(sim, text)).status);
    }
    expect(statuses).toEqual([429, 200, 429, 200]);
    expect((await ask(sim, `once more ${limited}`)).headers['retry-after']).toBe('9');
    const cut = await ask(sim, '[[sim deltas=9 size=3 fault=cut after=4]]');
    expect([cut.end, streamText('openai-chat', responseBytes(cut)).length]).toEqual(['cut', 12]);
  });

  test('applies only if it is the last one in the last user message', async () => {
    const sim = await start();
    const answer = await ask(sim, '[[sim text=first]] or rather [[sim text=second]]');
    expect(streamText('openai-chat', responseBytes(answer))).toBe('second');
    const body = {
      model: 'm',
      stream: true,
      messages: [
        { role: 'user', content: '[[sim text=old]]' },
        { role: 'assistant', content: 'old' },
        { role: 'user', content: 'And now?' },
      ],
    };
    const later = await send(sim, { path: '/v1/chat/completions', body });
    expect(streamText('openai-chat', responseBytes(later))).toContain('And now?');
  });

  test('with an unknown key is rejected with the allowed keys', async () => {
    const message = await rejection(await start(), '[[sim speed=9 deltas=3]]');
    expect(message).toContain('unknown key "speed"');
    for (const key of Object.keys(DIRECTIVE_KEYS)) expect(message).toContain(key);
  });

  test.each([
    ['[[sim fault=gremlins]]', 'unknown fault "gremlins"; known: 401, '],
    ['[[sim stop=never]]', 'unknown stop "never"; known: end-turn, '],
    ['[[sim deltas=many]]', 'deltas=many is not a whole number'],
    ["[[sim tool=ls args='{']]", 'args={ is not valid JSON'],
    ['[[sim after=3]]', 'after= requires fault='],
    ['[[sim deltas]]', "use [[sim key=value key='two words']]"],
  ])('%s is rejected: %s', async (text, message) => {
    expect(await rejection(await start(), text)).toContain(message);
  });
});
