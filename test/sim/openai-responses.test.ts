import OpenAI, { AuthenticationError, RateLimitError } from 'openai';
import { describe, expect, test } from 'vitest';
import type { SimAnswer, Sim, Stop } from '../../src/sim/index.ts';
import { simStarter, thrownBy } from './sims.ts';

const start = simStarter();
const ask = { model: 'gpt-sim', input: 'Hello?' };

function client(sim: Sim, apiKey = 'sk-any') {
  return new OpenAI({ baseURL: `${sim.url}/v1`, apiKey, maxRetries: 0 });
}

async function streamed(answer: SimAnswer) {
  const sim = await start({ script: [answer] });
  return await client(sim).responses.stream(ask).finalResponse();
}

describe('the official OpenAI client, with responses', () => {
  test('streams text and returns the same text without streaming', async () => {
    const answer: SimAnswer = { parts: [{ text: 'Grüße aus dem Simulator 🐙, es geht.' }] };
    const sim = await start({ script: [answer, answer] });
    const stream = await client(sim).responses.stream(ask).finalResponse();
    const complete = await client(sim).responses.create(ask);
    for (const response of [stream, complete]) {
      expect(response.output_text).toBe('Grüße aus dem Simulator 🐙, es geht.');
      expect(response.status).toBe('completed');
    }
  });

  test('builds from the deltas what the last event repeats', async () => {
    const answer: SimAnswer = {
      parts: [
        { thinking: 'Let me think about it.' },
        { text: 'I will read two files.' },
        { toolCall: { name: 'read', arguments: { path: 'a' } } },
        { refusal: 'But not the third.' },
      ],
    };
    const sim = await start({ script: [answer] });
    const stream = client(sim).responses.stream(ask);
    const built = new Map<string, string>();
    const numbers: number[] = [];
    for await (const event of stream) {
      numbers.push(event.sequence_number);
      if (!('delta' in event) || !('item_id' in event)) continue;
      built.set(event.item_id, (built.get(event.item_id) ?? '') + event.delta);
    }
    expect(numbers).toEqual(numbers.map((_, index) => index));
    expect([...built.values()]).toEqual([
      'Let me think about it.',
      'I will read two files.',
      '{"path":"a"}',
      'But not the third.',
    ]);
    expect((await stream.finalResponse()).output).toMatchObject([
      {
        id: 'rs_sim1',
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: 'Let me think about it.' }],
      },
      { id: 'msg_sim1', type: 'message', content: [{ type: 'output_text', text: 'I will read two files.' }] },
      { id: 'fc_sim1', type: 'function_call', call_id: 'call_sim1', name: 'read', arguments: '{"path":"a"}' },
      { id: 'msg_sim2', type: 'message', content: [{ type: 'refusal', refusal: 'But not the third.' }] },
    ]);
  });

  test('receives encrypted reasoning only if it requests it', async () => {
    const answer: SimAnswer = {
      parts: [{ thinking: 'Hm.', signature: 'c2VhbGVk' }, { redacted: 'aGlkZGVu' }],
    };
    const sim = await start({ script: [answer, answer] });
    const plain = await client(sim).responses.stream(ask).finalResponse();
    const sealed = await client(sim)
      .responses.stream({ ...ask, include: ['reasoning.encrypted_content'] })
      .finalResponse();
    expect(plain.output.some((item) => 'encrypted_content' in item)).toBe(false);
    expect(sealed.output).toMatchObject([
      { type: 'reasoning', encrypted_content: 'c2VhbGVk', summary: [{ text: 'Hm.' }] },
      { type: 'reasoning', encrypted_content: 'aGlkZGVu', summary: [] },
    ]);
  });

  test('receives parallel tool calls with interleaved fragments, one without arguments', async () => {
    const { output } = await streamed({
      parts: [
        { toolCall: { id: 'a', name: 'read', arguments: { path: 'the/first/of/the/files.txt' } } },
        { toolCall: { id: 'b', name: 'read', arguments: { path: 'the/second/of/the/files.txt' } } },
        { toolCall: { name: 'now' } },
      ],
      interleave: true,
    });
    expect(output).toMatchObject([
      { call_id: 'a', name: 'read', arguments: '{"path":"the/first/of/the/files.txt"}' },
      { call_id: 'b', name: 'read', arguments: '{"path":"the/second/of/the/files.txt"}' },
      { call_id: 'call_sim1', name: 'now', arguments: '{}' },
    ]);
  });

  test('receives the scripted usage', async () => {
    const { usage } = await streamed({
      parts: [{ text: 'x' }],
      usage: { inputTokens: 100, outputTokens: 7, cacheReadInputTokens: 60, reasoningTokens: 3 },
    });
    expect(usage).toEqual({
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 60 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 107,
    });
  });

  test.each<[Stop, string]>([
    ['max-tokens', 'max_output_tokens'],
    ['content-filter', 'content_filter'],
  ])('maps the stop %s to an incomplete response: %s', async (stop, reason) => {
    const response = await streamed({ parts: [{ text: 'x' }], stop });
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason } });
  });

  test("throws the client's own error classes", async () => {
    const sim = await start({ keys: ['sk-good'], script: [{ parts: [], fault: { kind: '429' } }] });
    expect(await thrownBy(client(sim, 'sk-bad').responses.create(ask))).toBeInstanceOf(AuthenticationError);
    expect(await thrownBy(client(sim, 'sk-good').responses.create(ask))).toBeInstanceOf(RateLimitError);
  });

  test('throws for an error inside the stream', async () => {
    const thrown = await thrownBy(
      streamed({ parts: [{ text: 'x'.repeat(100) }], fault: { kind: 'error-in-stream' } }),
    );
    expect(thrown).toMatchObject({ code: 'server_error' });
  });
});
