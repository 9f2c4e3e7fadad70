import { ApiError, type GenerateContentResponse, GoogleGenAI, type Part } from '@google/genai';
import { describe, expect, test } from 'vitest';
import type { SimAnswer, Sim, Stop } from '../../src/sim/index.ts';
import { simStarter, thrownBy } from './sims.ts';

const start = simStarter();
const ask = { model: 'gemini-sim', contents: 'Hello?' };

function client(sim: Sim, apiKey = 'any') {
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl: sim.url } });
}

async function streamChunks(sim: Sim): Promise<GenerateContentResponse[]> {
  const chunks = [];
  for await (const chunk of await client(sim).models.generateContentStream(ask)) chunks.push(chunk);
  return chunks;
}

async function streamed(answer: SimAnswer) {
  const sim = await start({ script: [answer] });
  return await streamChunks(sim);
}

function allParts(chunks: readonly GenerateContentResponse[]): Part[] {
  return chunks.flatMap((chunk) => chunk.candidates?.[0]?.content?.parts ?? []);
}

function joinedText(chunks: readonly GenerateContentResponse[], thought: boolean): string {
  return allParts(chunks)
    .filter((part) => (part.thought ?? false) === thought)
    .map((part) => part.text ?? '')
    .join('');
}

describe('the official Google client', () => {
  test('streams text and returns the same text without streaming', async () => {
    const answer: SimAnswer = { parts: [{ text: 'Grüße aus dem Simulator 🐙, es geht.' }] };
    const sim = await start({ script: [answer, answer] });
    const chunks = await streamChunks(sim);
    const complete = await client(sim).models.generateContent(ask);
    expect(chunks.map((chunk) => chunk.text ?? '').join('')).toBe('Grüße aus dem Simulator 🐙, es geht.');
    expect(complete.text).toBe('Grüße aus dem Simulator 🐙, es geht.');
    expect(complete.candidates?.[0]?.finishReason).toBe('STOP');
    expect(chunks.at(-1)?.candidates?.[0]?.finishReason).toBe('STOP');
  });

  test('receives thoughts, and their signature with the following tool call', async () => {
    const chunks = await streamed({
      parts: [
        { thinking: 'Let me think about it.', signature: 'c2lnbmVk' },
        { text: 'Reading.' },
        { toolCall: { name: 'read', arguments: { path: 'a' } } },
      ],
    });
    expect(joinedText(chunks, true)).toBe('Let me think about it.');
    expect(joinedText(chunks, false)).toBe('Reading.');
    expect(allParts(chunks).filter((part) => part.functionCall !== undefined)).toEqual([
      { functionCall: { name: 'read', args: { path: 'a' } }, thoughtSignature: 'c2lnbmVk' },
    ]);
  });

  test('receives the signature with the last part if no tool is called', async () => {
    const chunks = await streamed({ parts: [{ thinking: 'Hm.', signature: 'c2lnbmVk' }, { text: 'Yes.' }] });
    expect(allParts(chunks).at(-1)).toEqual({ text: '', thoughtSignature: 'c2lnbmVk' });
  });

  test('receives parallel tool calls, in one chunk if interleaved', async () => {
    const parts = [
      { toolCall: { name: 'read', arguments: { path: 'a' } } },
      { toolCall: { id: 'b', name: 'read', arguments: { path: 'b' } } },
      { toolCall: { name: 'now' } },
    ];
    const calls = [
      { name: 'read', args: { path: 'a' } },
      { id: 'b', name: 'read', args: { path: 'b' } },
      { name: 'now' },
    ];
    const interleaved = await streamed({ parts, interleave: true });
    const apart = await streamed({ parts });
    expect(interleaved.map((chunk) => chunk.functionCalls)).toEqual([calls, undefined]);
    expect(apart.map((chunk) => chunk.functionCalls)).toEqual([...calls.map((call) => [call]), undefined]);
  });

  test('receives the scripted usage, with thoughts separate', async () => {
    const chunks = await streamed({
      parts: [{ text: 'x' }],
      usage: { inputTokens: 100, outputTokens: 7, cacheReadInputTokens: 60, reasoningTokens: 3 },
    });
    expect(chunks.at(-1)?.usageMetadata).toEqual({
      promptTokenCount: 100,
      candidatesTokenCount: 4,
      totalTokenCount: 107,
      cachedContentTokenCount: 60,
      thoughtsTokenCount: 3,
    });
  });

  test.each<[Stop, string]>([
    ['max-tokens', 'MAX_TOKENS'],
    ['content-filter', 'SAFETY'],
    ['malformed-call', 'MALFORMED_FUNCTION_CALL'],
  ])('maps the stop %s to %s', async (stop, reason) => {
    const chunks = await streamed({ parts: [{ text: 'x' }], stop });
    expect(chunks.at(-1)?.candidates?.[0]?.finishReason).toBe(reason);
  });

  test("throws the client's own error classes, a wrong key as 400", async () => {
    const sim = await start({
      keys: ['good'],
      models: ['gemini-sim'],
      script: [{ parts: [], fault: { kind: '429' } }],
    });
    const { models } = client(sim, 'good');
    const badKey = await thrownBy(client(sim, 'bad').models.generateContent(ask));
    expect(badKey).toBeInstanceOf(ApiError);
    expect(badKey).toMatchObject({ status: 400, message: expect.stringContaining('API_KEY_INVALID') });
    expect(await thrownBy(models.generateContent({ ...ask, model: 'none' }))).toMatchObject({ status: 404 });
    expect(await thrownBy(models.generateContent(ask))).toMatchObject({
      status: 429,
      message: expect.stringContaining('"retryDelay":"1s"'),
    });
  });

  test('throws for an error inside the stream', async () => {
    const fault = { kind: 'error-in-stream' as const };
    const thrown = await thrownBy(streamed({ parts: [{ text: 'x'.repeat(100) }], fault }));
    expect(thrown).toBeInstanceOf(ApiError);
    expect(thrown).toMatchObject({ status: 503 });
  });

  test('lists the models', async () => {
    const sim = await start({ models: ['gemini-a', 'gemini-b'] });
    const names = [];
    for await (const model of await client(sim).models.list()) names.push(model.name);
    expect(names).toEqual(['models/gemini-a', 'models/gemini-b']);
  });
});
