import { describe, expect, test } from 'vitest';
import { objectOf, stringOf } from '../../src/base/index.ts';
import { DIRECTIVE_KEYS, type Sim, WIRES } from '../../src/sim/index.ts';
import { bytesOf, FINISH, heard, payloadsOf, QUESTION, textIn } from './raw.ts';
import { simStarter } from './sims.ts';

const start = simStarter();

async function asked(sim: Sim, text: string) {
  return await heard(sim, QUESTION['openai-chat'](text, true));
}

async function refused(sim: Sim, text: string): Promise<string> {
  const answer = await asked(sim, text);
  expect(answer.status).toBe(400);
  return stringOf(objectOf(objectOf(JSON.parse(bytesOf(answer).toString()))['error'])['message']);
}

describe('a directive in the prompt', () => {
  test.each(WIRES)('asks for generated text in deltas of a size (%s)', async (wire) => {
    const sim = await start({ script: [] });
    const answer = await heard(sim, QUESTION[wire]('Please. [[sim deltas=30 size=7]]', true));
    const text = textIn(wire, bytesOf(answer));
    expect(text).toHaveLength(210);
    const deltas = payloadsOf(wire, bytesOf(answer)).filter(
      (payload) => textIn(wire, framed(wire, payload)) !== '',
    );
    expect(deltas).toHaveLength(30);
    expect(bytesOf(answer).toString()).toMatch(FINISH[wire]);
  });

  test('puts several deltas into one write, and pauses between the writes', async () => {
    const sim = await start();
    const before = performance.now();
    const answer = await asked(sim, '[[sim deltas=32 size=5 batch=16 delay=20]]');
    expect(performance.now() - before).toBeGreaterThanOrEqual(38);
    const perWrite = answer.chunks.map((chunk) => textIn('openai-chat', chunk).length / 5);
    expect(perWrite.filter((count) => count > 0)).toEqual([16, 16]);
  });

  test('asks for words, quoted if there are spaces in them', async () => {
    const sim = await start();
    const answer = await asked(sim, "[[sim text='hello there' thinking=hm stop=max-tokens]] and more");
    expect(textIn('openai-chat', bytesOf(answer))).toBe('hello there');
    expect(bytesOf(answer).toString()).toMatch(/"reasoning_content":"hm"[^]*"finish_reason":"length"/);
  });

  test('asks for tool calls, and for an answer once their results are there', async () => {
    const sim = await start();
    const prompt = `[[sim tool=read args='{"path":"a b"}' calls=2 interleave=1]]`;
    const first = await asked(sim, prompt);
    expect(
      bytesOf(first)
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
    const second = await heard(sim, { path: '/v1/chat/completions', body });
    expect(textIn('openai-chat', bytesOf(second))).toBe('Done.');
  });

  test('without words of its own is laid over the answer of the script', async () => {
    const sim = await start({ script: [{ parts: [{ text: 'scripted words' }], pace: { chunkSize: 2 } }] });
    const answer = await asked(sim, '[[sim size=14 fault=missing-finish]]');
    expect(textIn('openai-chat', bytesOf(answer))).toBe('scripted words');
    expect(bytesOf(answer).toString()).not.toMatch(FINISH['openai-chat']);
    expect(
      bytesOf(answer)
        .toString()
        .match(/"content":"[^"]/g),
    ).toHaveLength(1);
  });

  test('asks for a fault with its parameters, counted per prompt', async () => {
    const sim = await start();
    const limited = '[[sim fault=429 times=1 retry-after=9 text=fine]]';
    const statuses = [];
    for (const text of [limited, limited, `again ${limited}`, `again ${limited}`]) {
      statuses.push((await asked(sim, text)).status);
    }
    expect(statuses).toEqual([429, 200, 429, 200]);
    expect((await asked(sim, `once more ${limited}`)).headers['retry-after']).toBe('9');
    const cut = await asked(sim, '[[sim deltas=9 size=3 fault=cut after=4]]');
    expect([cut.end, textIn('openai-chat', bytesOf(cut)).length]).toEqual(['cut', 12]);
  });

  test('counts only if it is the last one, in the last thing the user said', async () => {
    const sim = await start();
    const answer = await asked(sim, '[[sim text=first]] or rather [[sim text=second]]');
    expect(textIn('openai-chat', bytesOf(answer))).toBe('second');
    const body = {
      model: 'm',
      stream: true,
      messages: [
        { role: 'user', content: '[[sim text=old]]' },
        { role: 'assistant', content: 'old' },
        { role: 'user', content: 'And now?' },
      ],
    };
    const later = await heard(sim, { path: '/v1/chat/completions', body });
    expect(textIn('openai-chat', bytesOf(later))).toContain('And now?');
  });

  test('with an unknown key is refused with the key and the known ones', async () => {
    const message = await refused(await start(), '[[sim speed=9 deltas=3]]');
    expect(message).toContain('unknown key "speed"');
    for (const key of Object.keys(DIRECTIVE_KEYS)) expect(message).toContain(key);
  });

  test.each([
    ['[[sim fault=gremlins]]', 'unknown fault "gremlins"; known: 401, '],
    ['[[sim stop=never]]', 'unknown stop "never"; known: end-turn, '],
    ['[[sim deltas=many]]', 'deltas=many is not a whole number'],
    ["[[sim tool=ls args='{']]", 'args={ is not valid JSON'],
    ['[[sim after=3]]', 'after= means nothing without fault='],
    ['[[sim deltas]]', "it reads [[sim key=value key='two words']]"],
  ])('%s is refused: %s', async (text, why) => {
    expect(await refused(await start(), text)).toContain(why);
  });
});

function framed(wire: (typeof WIRES)[number], payload: string): Buffer {
  return Buffer.from(wire === 'ollama' ? `${payload}\n` : `data: ${payload}\n\n`);
}
