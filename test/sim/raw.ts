import { request as httpRequest, type IncomingMessage } from 'node:http';
import { arrayOf, objectOf, stringOf, tryParse } from '../../src/base/index.ts';
import type { Sim, ProviderApiName } from '../../src/sim/index.ts';
import { eventStreamReader, type FrameReader, LineReader, sseReader } from '../../src/wire/index.ts';

/** A response as a plain HTTP client receives it. */
export interface RawResponse {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** In order of arrival. */
  readonly chunks: readonly Buffer[];
  readonly end: 'clean' | 'cut';
}

export interface RawRequest {
  readonly path: string;
  readonly body: object;
}

/** One request in each provider API. */
export const REQUESTS: Record<ProviderApiName, (text: string, stream: boolean) => RawRequest> = {
  anthropic: (text, stream) => ({ path: '/v1/messages', body: chat(text, stream) }),
  'openai-chat': (text, stream) => ({ path: '/v1/chat/completions', body: chat(text, stream) }),
  'openai-responses': (text, stream) => ({
    path: '/v1/responses',
    body: { model: 'm', stream, input: text },
  }),
  gemini: (text, stream) => ({
    path: `/v1beta/models/m:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    body: { contents: [{ role: 'user', parts: [{ text }] }] },
  }),
  ollama: (text, stream) => ({ path: '/api/chat', body: chat(text, stream) }),
  bedrock: (text, stream) => ({
    path: `/model/m/converse${stream ? '-stream' : ''}`,
    body: { messages: [{ role: 'user', content: [{ text }] }] },
  }),
};

function chat(content: string, stream: boolean): object {
  return { model: 'm', stream, messages: [{ role: 'user', content }] };
}

/** Sends a request and resolves with the response when its headers arrive. */
export function open(sim: Sim, { path, body }: RawRequest, signal?: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      ...(signal && { signal }),
    };
    httpRequest(`${sim.url}${path}`, options, resolve).on('error', reject).end(JSON.stringify(body));
  });
}

/** Sends a request and reads the response to its end or failure. */
export async function send(sim: Sim, request: RawRequest): Promise<RawResponse> {
  const response = await open(sim, request);
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  const end = await new Promise<RawResponse['end']>((resolve) => {
    response.on('end', () => resolve('clean')).on('error', () => resolve('cut'));
  });
  return { status: response.statusCode ?? 0, headers: response.headers, chunks, end };
}

/** Reads until the predicate holds for the received text, with one character per byte; the response stays open. */
export async function readUntil(
  response: IncomingMessage,
  isComplete: (text: string) => boolean,
): Promise<string> {
  let text = '';
  await new Promise<void>((resolve, reject) => {
    response.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (isComplete(text)) resolve();
    });
    response.on('close', () => reject(new Error(`it ended with ${text}`)));
    response.on('error', () => {});
  });
  return text;
}

export function responseBytes({ chunks }: RawResponse): Buffer {
  return Buffer.concat(chunks);
}

/** Returns the streamPayloads of a stream without framing. */
export function streamPayloads(api: ProviderApiName, bytes: Buffer): readonly string[] {
  const reader = FRAME_READERS[api]?.() ?? sseReader();
  return [...reader.push(bytes), ...reader.end()];
}

const FRAME_READERS: Partial<Record<ProviderApiName, () => FrameReader>> = {
  ollama: () => new LineReader(),
  bedrock: () => eventStreamReader(),
};

/** Returns the text of the answer so far. */
export function streamText(api: ProviderApiName, bytes: Buffer): string {
  return streamPayloads(api, bytes)
    .map((payload) => payloadText(api, payload))
    .join('');
}

/** Returns the text in one payload. */
export function payloadText(api: ProviderApiName, payload: string): string {
  return TEXT[api](objectOf(tryParse(payload)));
}

type Payload = Readonly<Record<string, unknown>>;

const TEXT: Record<ProviderApiName, (payload: Payload) => string> = {
  anthropic: (payload) => stringOf(objectOf(payload['delta'])['text']),
  'openai-chat': (payload) =>
    stringOf(objectOf(objectOf(arrayOf(payload['choices'])[0])['delta'])['content']),
  'openai-responses': (payload) =>
    payload['type'] === 'response.output_text.delta' ? stringOf(payload['delta']) : '',
  gemini: (payload) =>
    arrayOf(objectOf(objectOf(arrayOf(payload['candidates'])[0])['content'])['parts'])
      .map((part) => stringOf(objectOf(part)['text']))
      .join(''),
  ollama: (payload) => stringOf(objectOf(payload['message'])['content']),
  bedrock: (payload) => stringOf(objectOf(objectOf(payload['contentBlockDelta'])['delta'])['text']),
};

/** The streamPayloads that end a complete stream. */
export const FINISH: Record<ProviderApiName, RegExp> = {
  anthropic: /message_stop/,
  'openai-chat': /\[DONE\]/,
  'openai-responses': /response\.completed/,
  gemini: /finishReason/,
  ollama: /"done":true/,
  bedrock: /stopReason|latencyMs/,
};
