import OpenAI, { AuthenticationError, NotFoundError, RateLimitError } from 'openai';
import { describe, expect, test } from 'vitest';
import type { SimAnswer, Sim, Stop } from '../../src/sim/index.ts';
import { simStarter, thrownBy } from './sims.ts';

const start = simStarter();
const ask = { model: 'gpt-sim', messages: [{ role: 'user' as const, content: 'Hello?' }] };

function client(sim: Sim, apiKey = 'sk-any') {
  return new OpenAI({ baseURL: `${sim.url}/v1`, apiKey, maxRetries: 0 });
}

async function streamed(answer: SimAnswer) {
  const sim = await start({ script: [answer] });
  const options = { ...ask, stream_options: { include_usage: true } };
  return await client(sim).chat.completions.stream(options).finalChatCompletion();
}

describe('the official OpenAI client, with chat completions', () => {
  test('streams text and returns the same text without streaming', async () => {
    const answer: SimAnswer = { parts: [{ text: 'Grüße aus dem Simulator 🐙, es geht.' }] };
    const sim = await start({ script: [answer, answer] });
    const stream = await client(sim).chat.completions.stream(ask).finalChatCompletion();
    const complete = await client(sim).chat.completions.create(ask);
    for (const completion of [stream, complete]) {
      expect(completion.choices[0]?.message.content).toBe('Grüße aus dem Simulator 🐙, es geht.');
      expect(completion.choices[0]?.finish_reason).toBe('stop');
    }
  });

  test('receives reasoning in the field that compatible vendors use', async () => {
    const sim = await start({
      script: [{ parts: [{ thinking: 'Let me think about it.' }, { text: 'Yes.' }] }],
    });
    const stream = await client(sim).chat.completions.create({ ...ask, stream: true });
    let reasoning = '';
    for await (const chunk of stream) {
      const delta = chunk.choices[0]?.delta ?? {};
      if ('reasoning_content' in delta) reasoning += String(delta.reasoning_content);
    }
    expect(reasoning).toBe('Let me think about it.');
  });

  test('receives parallel tool calls with interleaved fragments, one without arguments', async () => {
    const { choices } = await streamed({
      parts: [
        { toolCall: { id: 'a', name: 'read', arguments: { path: 'the/first/of/the/files.txt' } } },
        { toolCall: { id: 'b', name: 'read', arguments: { path: 'the/second/of/the/files.txt' } } },
        { toolCall: { name: 'now' } },
      ],
      interleave: true,
    });
    expect(choices[0]?.finish_reason).toBe('tool_calls');
    expect(choices[0]?.message.tool_calls).toMatchObject([
      {
        id: 'a',
        type: 'function',
        function: { name: 'read', arguments: '{"path":"the/first/of/the/files.txt"}' },
      },
      {
        id: 'b',
        type: 'function',
        function: { name: 'read', arguments: '{"path":"the/second/of/the/files.txt"}' },
      },
      { id: 'call_sim1', type: 'function', function: { name: 'now', arguments: '{}' } },
    ]);
  });

  test('receives a tool call without streaming', async () => {
    const sim = await start({
      script: [{ parts: [{ toolCall: { name: 'ls', arguments: { path: '.' } } }] }],
    });
    const { choices } = await client(sim).chat.completions.create(ask);
    expect(choices[0]?.message.tool_calls).toEqual([
      { id: 'call_sim1', type: 'function', function: { name: 'ls', arguments: '{"path":"."}' } },
    ]);
  });

  test('receives a refusal in its own field', async () => {
    const { choices } = await streamed({ parts: [{ refusal: 'I will not do that.' }] });
    expect(choices[0]?.message.refusal).toBe('I will not do that.');
  });

  test('receives the scripted usage if it requests usage', async () => {
    const { usage } = await streamed({
      parts: [{ text: 'x' }],
      usage: { inputTokens: 100, outputTokens: 7, cacheReadInputTokens: 60, reasoningTokens: 3 },
    });
    expect(usage).toEqual({
      prompt_tokens: 100,
      completion_tokens: 7,
      total_tokens: 107,
      prompt_tokens_details: { cached_tokens: 60 },
      completion_tokens_details: { reasoning_tokens: 3 },
    });
  });

  test.each<[Stop, string]>([
    ['max-tokens', 'length'],
    ['content-filter', 'content_filter'],
  ])('maps the stop %s to %s', async (stop, reason) => {
    const sim = await start({ script: [{ parts: [{ text: 'x' }], stop }] });
    const reasons = [];
    for await (const chunk of await client(sim).chat.completions.create({ ...ask, stream: true })) {
      reasons.push(chunk.choices[0]?.finish_reason);
    }
    expect(reasons.at(-1)).toBe(reason);
  });

  test("throws the client's own error classes", async () => {
    const sim = await start({
      keys: ['sk-good'],
      models: ['gpt-sim'],
      script: [{ parts: [], fault: { kind: '429' } }],
    });
    const { completions } = client(sim, 'sk-good').chat;
    const unauthorized = await thrownBy(client(sim, 'sk-bad-and-long-enough').chat.completions.create(ask));
    expect(unauthorized).toBeInstanceOf(AuthenticationError);
    expect(unauthorized).toMatchObject({ code: 'invalid_api_key' });
    expect(String(unauthorized)).not.toContain('bad-and-long');
    expect(await thrownBy(completions.create({ ...ask, model: 'gpt-none' }))).toBeInstanceOf(NotFoundError);
    expect(await thrownBy(completions.create(ask))).toBeInstanceOf(RateLimitError);
  });

  test('throws for an error inside the stream', async () => {
    const thrown = await thrownBy(
      streamed({ parts: [{ text: 'x'.repeat(100) }], fault: { kind: 'error-in-stream' } }),
    );
    expect(thrown).toMatchObject({ type: 'server_error' });
  });

  test('lists the models', async () => {
    const sim = await start({ models: ['gpt-a', 'gpt-b'] });
    const ids = [];
    for await (const model of client(sim).models.list()) ids.push(model.id);
    expect(ids).toEqual(['gpt-a', 'gpt-b']);
  });
});
