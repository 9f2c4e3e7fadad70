import {
  BedrockRuntimeClient,
  type ContentBlock,
  ConverseCommand,
  ConverseStreamCommand,
  type ConverseStreamOutput,
  InternalServerException,
  ResourceNotFoundException,
  ServiceUnavailableException,
  ThrottlingException,
  ValidationException,
} from '@aws-sdk/client-bedrock-runtime';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import { describe, expect, test } from 'vitest';
import type { Sim, SimAnswer, Stop } from '../../src/sim/index.ts';
import { send } from './raw.ts';
import { simStarter, thrownBy } from './sims.ts';

const start = simStarter();
const ACCESS_KEY = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};
const KEYS = [`${ACCESS_KEY.accessKeyId}:${ACCESS_KEY.secretAccessKey}`];
/** With characters that are encoded in the path, and once more in the signature. */
const MODEL = 'us.anthropic.claude-sim-v1:0';
const ask = { modelId: MODEL, messages: [{ role: 'user' as const, content: [{ text: 'Hello?' }] }] };

/** The client prefers HTTP/2; Bedrock also speaks HTTP/1.1, as we do. */
function options(sim: Sim) {
  return {
    endpoint: sim.url,
    region: 'eu-central-1',
    maxAttempts: 1,
    requestHandler: new NodeHttpHandler(),
  };
}

function client(sim: Sim, credentials: typeof ACCESS_KEY & { sessionToken?: string } = ACCESS_KEY) {
  return new BedrockRuntimeClient({ ...options(sim), credentials });
}

async function streamEvents(sim: Sim): Promise<ConverseStreamOutput[]> {
  const { stream = [] } = await client(sim).send(new ConverseStreamCommand(ask));
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

async function streamed(answer: SimAnswer) {
  return await streamEvents(await start({ script: [answer], keys: KEYS }));
}

function deltas(events: readonly ConverseStreamOutput[]) {
  return events.flatMap(({ contentBlockDelta }) => contentBlockDelta?.delta ?? []);
}

describe('the official Bedrock client', () => {
  test('streams text and returns the same text without streaming', async () => {
    const answer: SimAnswer = { parts: [{ text: 'Grüße aus dem Simulator 🐙, es geht.' }] };
    const sim = await start({ script: [answer, answer], keys: KEYS });
    const events = await streamEvents(sim);
    const complete = await client(sim).send(new ConverseCommand(ask));
    expect(
      deltas(events)
        .map(({ text = '' }) => text)
        .join(''),
    ).toBe('Grüße aus dem Simulator 🐙, es geht.');
    expect(events[0]).toEqual({ messageStart: { role: 'assistant' } });
    expect(events.at(-2)).toEqual({ messageStop: { stopReason: 'end_turn' } });
    expect(complete).toMatchObject({
      output: { message: { content: [{ text: 'Grüße aus dem Simulator 🐙, es geht.' }] } },
      stopReason: 'end_turn',
      usage: events.at(-1)?.metadata?.usage,
    });
  });

  test('receives thinking with its signature, and redacted thinking', async () => {
    const answer: SimAnswer = {
      parts: [{ thinking: 'Hm.', signature: 'c2lnbmVk' }, { redacted: 'aGlkZGVu' }, { text: 'Yes.' }],
    };
    const sim = await start({ script: [answer, answer], keys: KEYS });
    expect(deltas(await streamEvents(sim))).toEqual([
      { reasoningContent: { text: 'Hm.' } },
      { reasoningContent: { signature: 'c2lnbmVk' } },
      { reasoningContent: { redactedContent: new Uint8Array(Buffer.from('hidden')) } },
      { text: 'Yes.' },
    ]);
    const complete = await client(sim).send(new ConverseCommand(ask));
    expect(complete.output?.message?.content).toEqual<ContentBlock[]>([
      { reasoningContent: { reasoningText: { text: 'Hm.', signature: 'c2lnbmVk' } } },
      { reasoningContent: { redactedContent: new Uint8Array(Buffer.from('hidden')) } },
      { text: 'Yes.' },
    ]);
  });

  test('receives parallel tool calls with interleaved fragments, one without arguments', async () => {
    const events = await streamed({
      parts: [
        { toolCall: { id: 'a', name: 'read', arguments: { path: 'the/first/of/the/files.txt' } } },
        { toolCall: { id: 'b', name: 'read', arguments: { path: 'the/second/of/the/files.txt' } } },
        { toolCall: { id: 'c', name: 'now' } },
      ],
      interleave: true,
    });
    const calls = events.flatMap(({ contentBlockStart }) =>
      contentBlockStart === undefined
        ? []
        : [
            {
              ...contentBlockStart.start?.toolUse,
              input: events
                .filter(
                  ({ contentBlockDelta }) =>
                    contentBlockDelta?.contentBlockIndex === contentBlockStart.contentBlockIndex,
                )
                .map(({ contentBlockDelta }) => contentBlockDelta?.delta?.toolUse?.input)
                .join(''),
            },
          ],
    );
    expect(calls).toEqual([
      { toolUseId: 'a', name: 'read', input: '{"path":"the/first/of/the/files.txt"}' },
      { toolUseId: 'b', name: 'read', input: '{"path":"the/second/of/the/files.txt"}' },
      { toolUseId: 'c', name: 'now', input: '' },
    ]);
    expect(events.at(-2)?.messageStop?.stopReason).toBe('tool_use');
  });

  test('receives the scripted usage, with cached tokens separate', async () => {
    const events = await streamed({
      parts: [{ text: 'x' }],
      usage: { inputTokens: 100, outputTokens: 7, cacheReadInputTokens: 60, cacheCreationInputTokens: 30 },
    });
    expect(events.at(-1)?.metadata?.usage).toMatchObject({
      inputTokens: 10,
      outputTokens: 7,
      totalTokens: 107,
      cacheReadInputTokens: 60,
      cacheWriteInputTokens: 30,
    });
  });

  test.each<[Stop, string]>([
    ['max-tokens', 'max_tokens'],
    ['stop-sequence', 'stop_sequence'],
    ['content-filter', 'guardrail_intervened'],
    ['context-full', 'model_context_window_exceeded'],
    ['malformed-call', 'malformed_tool_use'],
  ])('maps the stop %s to %s', async (stop, reason) => {
    const events = await streamed({ parts: [{ text: 'x' }], stop });
    expect(events.at(-2)?.messageStop?.stopReason).toBe(reason);
  });

  test("throws the client's own error classes", async () => {
    const kinds = ['429', '500', 'overloaded', 'context-too-long', '404'] as const;
    const sim = await start({ script: kinds.map((kind) => ({ parts: [], fault: { kind } })) });
    for (const [at, expected] of [
      ThrottlingException,
      InternalServerException,
      ServiceUnavailableException,
      ValidationException,
      ResourceNotFoundException,
    ].entries())
      expect(await thrownBy(streamEvents(sim)), kinds[at]).toBeInstanceOf(expected);
  });

  test('throws for an error inside the stream', async () => {
    const fault = { kind: 'error-in-stream' as const };
    const thrown = await thrownBy(streamed({ parts: [{ text: 'x'.repeat(100) }], fault }));
    expect(thrown).toBeInstanceOf(ServiceUnavailableException);
  });

  test('is rejected with another secret, another access key, or no credentials', async () => {
    const sim = await start({ script: [{ parts: [{ text: 'x' }] }], keys: KEYS });
    const asked = (credentials: typeof ACCESS_KEY) =>
      thrownBy(client(sim, credentials).send(new ConverseStreamCommand(ask)));
    expect(await asked({ ...ACCESS_KEY, secretAccessKey: 'another' })).toMatchObject({
      name: 'UnrecognizedClientException',
      message: expect.stringContaining('does not match the signature'),
      $metadata: { httpStatusCode: 403 },
    });
    expect(await asked({ ...ACCESS_KEY, accessKeyId: 'AKIDOTHER' })).toMatchObject({
      name: 'UnrecognizedClientException',
    });
    const unsigned = await send(sim, { path: '/model/m/converse', body: { messages: [] } });
    expect(unsigned.status).toBe(403);
    expect(unsigned.headers['x-amzn-errortype']).toMatch(/^MissingAuthenticationTokenException:/);
  });

  test('signs with temporary credentials', async () => {
    const sim = await start({ script: [{ parts: [{ text: 'x' }] }], keys: KEYS });
    const temporary = client(sim, { ...ACCESS_KEY, sessionToken: 'a-session-token' });
    expect(await temporary.send(new ConverseCommand(ask))).toMatchObject({ stopReason: 'end_turn' });
    expect(sim.requests[0]?.headers['x-amz-security-token']).toBe('a-session-token');
  });

  test('sends a key of Bedrock as a bearer token', async () => {
    const sim = await start({ script: [{ parts: [{ text: 'x' }] }], keys: ['bedrock-api-key'] });
    const withKey = new BedrockRuntimeClient({
      ...options(sim),
      token: { token: 'bedrock-api-key' },
      authSchemePreference: ['httpBearerAuth'],
    });
    expect(await withKey.send(new ConverseCommand(ask))).toMatchObject({ stopReason: 'end_turn' });
  });

  test('sends the conversation in the shape that scripts receive', async () => {
    const seen: unknown[] = [];
    const sim = await start({
      script: (request) => {
        seen.push(request);
        return { parts: [{ text: 'x' }] };
      },
    });
    await client(sim).send(
      new ConverseCommand({
        ...ask,
        system: [{ text: 'Be brief.' }],
        toolConfig: {
          tools: [
            { toolSpec: { name: 'read', inputSchema: { json: { type: 'object' } } } },
            { cachePoint: { type: 'default' } },
          ],
        },
      }),
    );
    expect(seen).toMatchObject([
      {
        api: 'bedrock',
        model: MODEL,
        stream: false,
        system: 'Be brief.',
        messages: [{ role: 'user', text: 'Hello?' }],
        tools: [{ name: 'read', parameters: { type: 'object' } }],
      },
    ]);
  });
});

describe('without keys', () => {
  test.each([
    'AWS4-HMAC-SHA256 nonsense',
    `AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-date, Signature=${'0'.repeat(64)}`,
    `AWS4-HMAC-SHA256 Credential=AKID/20260101/us-east-1/bedrock/aws4_request, SignedHeaders=x-amz-date, Signature=${'0'.repeat(64)}`,
    `AWS4-HMAC-SHA256 Credential=AKID/20260102/us-east-1/bedrock/aws4_request, SignedHeaders=host;x-amz-date, Signature=${'0'.repeat(64)}`,
  ])('a signature with a wrong form is rejected: %s', async (authorization) => {
    const sim = await start();
    const response = await fetch(`${sim.url}/model/m/converse`, {
      method: 'POST',
      headers: { authorization, 'x-amz-date': '20260101T000000Z' },
      body: '{"messages":[]}',
    });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({
      message: expect.stringContaining('signature is not valid'),
    });
  });
});
