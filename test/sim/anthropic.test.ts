import Anthropic, {
  AuthenticationError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';
import type { SimAnswer, Sim, Stop } from '../../src/sim/index.ts';
import { simStarter, thrownBy } from './sims.ts';

const start = simStarter();
const ask = {
  model: 'claude-sim',
  max_tokens: 100,
  messages: [{ role: 'user' as const, content: 'Hello?' }],
};

function client(sim: Sim, apiKey = 'sk-ant-any') {
  return new Anthropic({ baseURL: sim.url, apiKey, maxRetries: 0 });
}

async function streamed(answer: SimAnswer) {
  const sim = await start({ script: [answer] });
  return await client(sim).messages.stream(ask).finalMessage();
}

describe('the official Anthropic client', () => {
  test('streams text and returns the same text without streaming', async () => {
    const answer: SimAnswer = { parts: [{ text: 'Grüße aus dem Simulator 🐙, es geht.' }] };
    const sim = await start({ script: [answer, answer] });
    const stream = await client(sim).messages.stream(ask).finalMessage();
    const complete = await client(sim).messages.create(ask);
    expect(stream.content).toEqual([{ type: 'text', text: 'Grüße aus dem Simulator 🐙, es geht.' }]);
    expect(complete.content).toEqual(stream.content);
    expect([complete.stop_reason, stream.stop_reason]).toEqual(['end_turn', 'end_turn']);
    expect(complete.usage).toEqual(stream.usage);
  });

  test('receives thinking with its signature, and redacted thinking', async () => {
    const { content } = await streamed({
      parts: [
        { thinking: 'Let me think about it.', signature: 'c2lnbmVk' },
        { redacted: 'aGlkZGVu' },
        { text: 'Yes.' },
      ],
    });
    expect(content).toEqual([
      { type: 'thinking', thinking: 'Let me think about it.', signature: 'c2lnbmVk' },
      { type: 'redacted_thinking', data: 'aGlkZGVu' },
      { type: 'text', text: 'Yes.' },
    ]);
  });

  test('receives a tool call', async () => {
    const message = await streamed({
      parts: [
        { text: 'Reading.' },
        { toolCall: { name: 'read', arguments: { path: 'a/b.md', lines: [1, 2] } } },
      ],
    });
    expect(message.stop_reason).toBe('tool_use');
    expect(message.content).toEqual([
      { type: 'text', text: 'Reading.' },
      { type: 'tool_use', id: 'toolu_sim1', name: 'read', input: { path: 'a/b.md', lines: [1, 2] } },
    ]);
  });

  test('receives parallel tool calls with interleaved fragments, one without arguments', async () => {
    const message = await streamed({
      parts: [
        { toolCall: { id: 'a', name: 'read', arguments: { path: 'the/first/of/the/files.txt' } } },
        { toolCall: { id: 'b', name: 'read', arguments: { path: 'the/second/of/the/files.txt' } } },
        { toolCall: { id: 'c', name: 'now' } },
      ],
      interleave: true,
    });
    expect(message.content).toEqual([
      { type: 'tool_use', id: 'a', name: 'read', input: { path: 'the/first/of/the/files.txt' } },
      { type: 'tool_use', id: 'b', name: 'read', input: { path: 'the/second/of/the/files.txt' } },
      { type: 'tool_use', id: 'c', name: 'now', input: {} },
    ]);
  });

  test('receives the scripted usage, with cached tokens separate', async () => {
    const { usage } = await streamed({
      parts: [{ text: 'x' }],
      usage: { inputTokens: 100, outputTokens: 7, cacheReadInputTokens: 60, cacheCreationInputTokens: 30 },
    });
    expect(usage).toMatchObject({
      input_tokens: 10,
      output_tokens: 7,
      cache_read_input_tokens: 60,
      cache_creation_input_tokens: 30,
    });
  });

  test.each<[Stop, string]>([
    ['max-tokens', 'max_tokens'],
    ['stop-sequence', 'stop_sequence'],
    ['refusal', 'refusal'],
    ['pause-turn', 'pause_turn'],
  ])('maps the stop %s to %s', async (stop, reason) => {
    expect((await streamed({ parts: [{ text: 'x' }], stop })).stop_reason).toBe(reason);
  });

  test("throws the client's own error classes", async () => {
    const sim = await start({
      keys: ['sk-ant-good'],
      models: ['claude-sim'],
      script: [
        { parts: [], fault: { kind: '429', retryAfterSeconds: 7 } },
        { parts: [], fault: { kind: '529' } },
      ],
    });
    const { messages } = client(sim, 'sk-ant-good');
    expect(await thrownBy(client(sim, 'sk-ant-bad').messages.create(ask))).toBeInstanceOf(
      AuthenticationError,
    );
    expect(await thrownBy(messages.create({ ...ask, model: 'claude-none' }))).toBeInstanceOf(NotFoundError);
    const limited = await thrownBy(messages.create(ask));
    expect(limited).toBeInstanceOf(RateLimitError);
    expect(limited).toMatchObject({ status: 429, type: 'rate_limit_error' });
    const overloaded = await thrownBy(messages.create(ask));
    expect(overloaded).toBeInstanceOf(InternalServerError);
    expect(overloaded).toMatchObject({ status: 529, type: 'overloaded_error' });
  });

  test('retries until the fault stops applying', async () => {
    const sim = await start({
      script: [{ parts: [{ text: 'at last' }], fault: { kind: '529', times: 2, retryAfterSeconds: 0 } }],
    });
    const patient = new Anthropic({ baseURL: sim.url, apiKey: 'any', maxRetries: 2 });
    const message = await patient.messages.create(ask);
    expect(message.content).toEqual([{ type: 'text', text: 'at last' }]);
    expect(sim.requests).toHaveLength(3);
  });

  test('throws for an error inside the stream', async () => {
    const thrown = await thrownBy(
      streamed({ parts: [{ text: 'x'.repeat(100) }], fault: { kind: 'error-in-stream' } }),
    );
    expect(thrown).toMatchObject({ error: { error: { type: 'overloaded_error', message: 'Overloaded' } } });
  });

  test('lists the models', async () => {
    const sim = await start({ models: ['claude-a', 'claude-b'] });
    const ids = [];
    for await (const model of client(sim).models.list()) ids.push(model.id);
    expect(ids).toEqual(['claude-a', 'claude-b']);
  });
});
