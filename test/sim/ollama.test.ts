import { type ChatResponse, Ollama } from 'ollama';
import { describe, expect, test } from 'vitest';
import type { SimAnswer, Sim } from '../../src/sim/index.ts';
import { simStarter, thrownBy } from './sims.ts';

const start = simStarter();
const ask = { model: 'llama-sim', messages: [{ role: 'user', content: 'Hello?' }] };

function client(sim: Sim, key = 'any') {
  return new Ollama({ host: sim.url, headers: { authorization: `Bearer ${key}` } });
}

async function streamed(answer: SimAnswer): Promise<ChatResponse[]> {
  const sim = await start({ script: [answer] });
  const lines = [];
  for await (const line of await client(sim).chat({ ...ask, stream: true })) lines.push(line);
  return lines;
}

describe('the official Ollama client', () => {
  test('streams text and thinking and returns the same without streaming', async () => {
    const answer: SimAnswer = {
      parts: [{ thinking: 'Let me think about it.' }, { text: 'Grüße aus dem Simulator 🐙, es geht.' }],
    };
    const lines = await streamed(answer);
    const sim = await start({ script: [answer] });
    const complete = await client(sim).chat(ask);
    expect(lines.map(({ message }) => message.thinking ?? '').join('')).toBe('Let me think about it.');
    expect(lines.map(({ message }) => message.content).join('')).toBe('Grüße aus dem Simulator 🐙, es geht.');
    expect(complete.message).toEqual({
      role: 'assistant',
      content: 'Grüße aus dem Simulator 🐙, es geht.',
      thinking: 'Let me think about it.',
    });
    expect(lines.filter((line) => line.done)).toHaveLength(1);
  });

  test('receives parallel tool calls, in one line if interleaved', async () => {
    const lines = await streamed({
      parts: [{ toolCall: { name: 'read', arguments: { path: 'a' } } }, { toolCall: { name: 'now' } }],
      interleave: true,
    });
    expect(lines.map(({ message }) => message.tool_calls)).toEqual([
      [
        { id: 'call_sim1', function: { index: 0, name: 'read', arguments: { path: 'a' } } },
        { id: 'call_sim2', function: { index: 1, name: 'now', arguments: {} } },
      ],
      undefined,
    ]);
  });

  test('receives the scripted usage and stop reason', async () => {
    const lines = await streamed({
      parts: [{ text: 'x' }],
      stop: 'max-tokens',
      usage: { inputTokens: 100, outputTokens: 7 },
    });
    expect(lines.at(-1)).toMatchObject({
      done: true,
      done_reason: 'length',
      prompt_eval_count: 100,
      eval_count: 7,
    });
  });

  test("throws the client's own error classes", async () => {
    const sim = await start({
      keys: ['good'],
      models: ['llama-sim'],
      script: [{ parts: [], fault: { kind: '429' } }],
    });
    expect(await thrownBy(client(sim, 'bad').chat(ask))).toMatchObject({
      status_code: 401,
      error: 'unauthorized',
    });
    expect(await thrownBy(client(sim, 'good').chat({ ...ask, model: 'none' }))).toMatchObject({
      status_code: 404,
      error: "model 'none' not found",
    });
    expect(await thrownBy(client(sim, 'good').chat(ask))).toMatchObject({ status_code: 429 });
  });

  test('throws for an error inside the stream', async () => {
    const thrown = await thrownBy(
      streamed({ parts: [{ text: 'x'.repeat(100) }], fault: { kind: 'error-in-stream' } }),
    );
    expect(String(thrown)).toContain('an error was encountered while running the model');
  });

  test('lists the models and returns the version', async () => {
    const sim = await start({ models: ['llama-a', 'llama-b'] });
    const { models } = await client(sim).list();
    expect(models.map((model) => model.name)).toEqual(['llama-a', 'llama-b']);
    expect((await client(sim).version()).version).toMatch(/^\d+\.\d+\.\d+$/);
  });
});
