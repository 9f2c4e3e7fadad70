import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BedrockRuntimeClient, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { arrayOf, objectOf } from '../../src/base/index.ts';
import { connect, type Item, type LlmEvent, type LlmRequest, textContent } from '../../src/llm/index.ts';
import { providerNamed } from '../../src/registry.ts';
import { type SimAnswer, startSim } from '../../src/sim/index.ts';
import { encodeEventStream } from '../../src/wire/index.ts';
import { everyByte } from '../wire/chunks.ts';
import { callsIn, expectBalanced, joined } from './balance.ts';
import { decodeAll, OWN, payloadsOf, recordingsIn } from './recordings.ts';

const bedrock = providerNamed('bedrock');
const CLAUDE = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const user: Item = { type: 'message', role: 'user', content: textContent('Hello?') };
const ASK: LlmRequest = { model: CLAUDE, items: [user] };
const TOOL = { name: 'read', description: 'Reads.', parameters: { type: 'object' } };
const call: Item = { type: 'tool-call', callId: 'c1', name: 'read', arguments: '{}' };
const result = (isError: boolean): Item => ({
  type: 'tool-result',
  callId: 'c1',
  content: textContent('gone'),
  isError,
});
const lowered = (request: Partial<LlmRequest>) => bedrock.lower({ ...ASK, ...request });

describe('a request to Bedrock', () => {
  it('has the id of the model in its path, also an ARN', () => {
    const account = { name: 'bedrock', api: 'bedrock', baseUrl: 'https://host' };
    const arn = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc';
    expect(bedrock.endpoint({ ...ASK, model: arn }, account).url).toBe(
      `https://host/model/${encodeURIComponent(arn)}/converse-stream`,
    );
    expect(bedrock.endpoint(ASK, account).url).toContain('claude-sonnet-4-5-20250929-v1%3A0/converse-stream');
  });

  it.each<[string, Partial<LlmRequest>, object]>([
    [
      'a budget for Claude up to 4.5, which may also think between calls',
      { thinking: 'low', tools: [TOOL] },
      {
        thinking: { type: 'enabled', budget_tokens: 2048 },
        anthropic_beta: ['interleaved-thinking-2025-05-14'],
      },
    ],
    [
      'an effort for newer versions of Claude',
      { model: 'global.anthropic.claude-opus-5-5-v1:0', thinking: 'high', tools: [TOOL] },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    ],
    [
      'an effort for models of OpenAI',
      { model: 'openai.gpt-oss-120b-1:0', thinking: 'xhigh' },
      { reasoning_effort: 'high' },
    ],
    [
      'an effort for Nova 2',
      { model: 'us.amazon.nova-2-lite-v1:0', thinking: 'low' },
      { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'low' } },
    ],
  ])('sets the thinking level as %s', (_what, request, fields) => {
    expect(lowered(request)).toMatchObject({ additionalModelRequestFields: fields });
    expect(objectOf(lowered(request).additionalModelRequestFields)).toEqual(fields);
  });

  it('leaves room for the answer beside a thinking budget, and sends no temperature with it', () => {
    const body = lowered({ thinking: 'low', maxTokens: 1000, temperature: 0.5 });
    expect(body.inferenceConfig).toEqual({ maxTokens: 3048 });
    expect(lowered({ maxTokens: 1000, temperature: 0.5 }).inferenceConfig).toEqual({
      maxTokens: 1000,
      temperature: 0.5,
    });
  });

  it('marks the stable prefix with cache points for models that accept them', () => {
    const request = { system: 'Be brief.', cache: { ttl: '5m' as const }, tools: [TOOL] };
    const point = { cachePoint: { type: 'default' } };
    expect(lowered(request)).toMatchObject({
      system: [{ text: 'Be brief.' }, point],
      messages: [{ content: [{ text: 'Hello?' }, point] }],
    });
    expect(JSON.stringify(lowered({ ...request, model: 'meta.llama3-70b-instruct-v1:0' }))).not.toContain(
      'cachePoint',
    );
    expect(JSON.stringify(lowered({ ...request, cache: { ttl: '1h' } }))).toContain('"ttl":"1h"');
  });

  it('declares the tools of earlier calls, which the API requires, if it offers none', () => {
    const tools = (request: Partial<LlmRequest>) =>
      arrayOf(objectOf(lowered(request).toolConfig).tools).map(
        (tool) => objectOf(objectOf(tool).toolSpec).name,
      );
    expect(tools({ items: [user, call, result(false)] })).toEqual(['read']);
    expect(tools({ items: [user, call, result(false)], tools: [TOOL], toolChoice: 'none' })).toEqual([
      'read',
    ]);
    expect(lowered({ tools: [TOOL], toolChoice: 'none' })).not.toHaveProperty('toolConfig');
  });

  it('marks a failed result by its status, or in its text for models without one', () => {
    const items = [user, call, result(true)];
    expect(JSON.stringify(lowered({ items }))).toContain('"content":[{"text":"gone"}],"status":"error"');
    const other = JSON.stringify(lowered({ items, model: 'mistral.mistral-large-2407-v1:0' }));
    expect(other).toContain('"text":"Error: gone"');
    expect(other).not.toContain('status');
  });

  it('sends no blank text, and redacted thinking unchanged', () => {
    const items: Item[] = [
      user,
      { type: 'reasoning', text: '', seal: { wire: 'bedrock', data: { redacted: 'aGlkZGVu' } } },
      { type: 'message', role: 'assistant', content: textContent(' \n') },
      { ...call },
      { type: 'tool-result', callId: 'c1', content: textContent(''), isError: false },
    ];
    expect(lowered({ items }).messages).toEqual([
      { role: 'user', content: [{ text: 'Hello?' }] },
      {
        role: 'assistant',
        content: [
          { reasoningContent: { redactedContent: 'aGlkZGVu' } },
          { toolUse: { toolUseId: 'c1', name: 'read', input: {} } },
        ],
      },
      { role: 'user', content: [{ toolResult: { toolUseId: 'c1', content: [{ text: '(no output)' }] } }] },
    ]);
  });
});

describe.each(recordingsIn(OWN).filter(({ provider }) => provider === bedrock))('$file', (recording) => {
  it('decodes to the same events in the framing of Bedrock', () => {
    const bytes = Buffer.concat(payloadsOf(recording).map(frame));
    const expected = decodeAll(bedrock, [recording.bytes]);
    expect(decodeAll(bedrock, [bytes])).toEqual(expected);
    expect(decodeAll(bedrock, everyByte(bytes))).toEqual(expected);
  });
});

function frame(payload: string): Uint8Array {
  const [[type, body] = ['', {}]] = Object.entries(objectOf(JSON.parse(payload)));
  if (type === 'error') {
    const { code, message } = objectOf(body);
    return encodeEventStream(
      { ':message-type': 'error', ':error-code': String(code), ':error-message': String(message) },
      '',
    );
  }
  return encodeEventStream(
    type.endsWith('Exception')
      ? { ':message-type': 'exception', ':exception-type': type }
      : { ':message-type': 'event', ':event-type': type },
    JSON.stringify(body),
  );
}

describe('a damaged answer', () => {
  const delta = frame('{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"text":"Half"}}}');
  const damaged = Uint8Array.from(delta);
  damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1;
  const huge = Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0]);

  it.each([
    ['a wrong checksum', [delta, damaged, delta], 'malformed', 'Half'],
    ['an impossible length', [delta, huge], 'malformed', 'Half'],
    ['half a message', [delta, delta.subarray(0, 40)], 'cut-off', 'Half'],
    ['only the start of a length', [huge.subarray(0, 3)], 'cut-off', ''],
  ] as const)('with %s fails, with its text until then', async (_what, frames, kind, text) => {
    const server = createServer((_incoming, response) => {
      response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
      response.end(Buffer.concat(frames));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it listens on a port
    const { port } = server.address() as AddressInfo;
    const events = await eventsFrom(`http://127.0.0.1:${port}`);
    expectBalanced(events);
    expect(events.find((event) => event.type === 'error')).toMatchObject({ kind });
    expect(joined(events, 'text')).toBe(text);
  });
});

describe('the decoder and the official client', () => {
  const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
  const part = fc.oneof(
    text.map((value) => ({ text: value })),
    text.map((thinking) => ({ thinking, signature: 'c2lnbmVk' })),
    fc.record({ path: text }).map((value) => ({ toolCall: { name: 'read', arguments: value } })),
  );
  const answer = fc.record({
    parts: fc.array(part, { minLength: 1, maxLength: 5 }),
    interleave: fc.boolean(),
    pace: fc.record({ chunkSize: fc.integer({ min: 1, max: 9 }) }),
    usage: fc.record({ inputTokens: fc.nat(1000), outputTokens: fc.nat(1000) }),
  });

  it('read the same content from the same answers', async () => {
    const answers = fc.sample(answer, { numRuns: 40, seed: 7 });
    const sim = await startSim({ script: answers.flatMap((one: SimAnswer) => [one, one]) });
    onTestFinished(() => sim.close());
    const client = new BedrockRuntimeClient({
      endpoint: sim.url,
      region: 'us-east-1',
      credentials: { accessKeyId: 'AKID', secretAccessKey: 'secret' },
      requestHandler: new NodeHttpHandler(),
    });
    for (const one of answers) {
      const ours = await ourContent(sim.url);
      expect(ours, JSON.stringify(one)).toEqual(await officialContent(client));
    }
  });
});

async function eventsFrom(baseUrl: string): Promise<readonly LlmEvent[]> {
  const llm = connect(bedrock, { name: 'sim', api: 'bedrock', baseUrl });
  const events: LlmEvent[] = [];
  for await (const event of llm.stream(ASK, new AbortController().signal)) events.push(event);
  return events;
}

async function ourContent(baseUrl: string) {
  const events = await eventsFrom(baseUrl);
  const usage = events.find((event) => event.type === 'usage');
  const last = events.at(-1);
  return {
    text: joined(events, 'text'),
    thinking: joined(events, 'thinking'),
    signatures: events.flatMap((event) =>
      event.type === 'block-stop' && event.seal ? [event.seal.data.signature] : [],
    ),
    calls: callsIn(events),
    usage: [usage?.inputTokens, usage?.outputTokens],
    stop: last?.type === 'status' && last.status === 'completed' ? last.providerReason : last,
  };
}

async function officialContent(client: BedrockRuntimeClient) {
  const { stream = [] } = await client.send(
    new ConverseStreamCommand({
      modelId: CLAUDE,
      messages: [{ role: 'user', content: [{ text: 'Hello?' }] }],
    }),
  );
  const content = { text: '', thinking: '', signatures: [] as unknown[] };
  const calls = new Map<number | undefined, { name: string | undefined; arguments: string }>();
  let usage: unknown;
  let stop: unknown;
  for await (const { contentBlockStart, contentBlockDelta, messageStop, metadata } of stream) {
    if (contentBlockStart?.start?.toolUse)
      calls.set(contentBlockStart.contentBlockIndex, {
        name: contentBlockStart.start.toolUse.name,
        arguments: '',
      });
    const delta = contentBlockDelta?.delta;
    content.text += delta?.text ?? '';
    content.thinking += delta?.reasoningContent?.text ?? '';
    if (delta?.reasoningContent?.signature) content.signatures.push(delta.reasoningContent.signature);
    const known = calls.get(contentBlockDelta?.contentBlockIndex);
    if (known) known.arguments += delta?.toolUse?.input ?? '';
    stop = messageStop?.stopReason ?? stop;
    if (metadata?.usage) usage = [metadata.usage.inputTokens, metadata.usage.outputTokens];
  }
  return { ...content, calls: [...calls.values()], usage, stop };
}
