import { request as httpRequest, type IncomingMessage } from 'node:http';
import { arrayOf, objectOf, stringOf, tryParse } from '../../src/base/index.ts';
import type { Sim, WireName } from '../../src/sim/index.ts';
import { lineReader, sseReader } from '../../src/wire/index.ts';

/** What a client sees that knows nothing but HTTP. */
export interface Heard {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** As they arrived. */
  readonly chunks: readonly Buffer[];
  readonly end: 'clean' | 'cut';
}

export interface Asked {
  readonly path: string;
  readonly body: object;
}

/** One question in each provider's spelling. */
export const QUESTION: Record<WireName, (text: string, stream: boolean) => Asked> = {
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
};

function chat(content: string, stream: boolean): object {
  return { model: 'm', stream, messages: [{ role: 'user', content }] };
}

/** Sends a question and hands out the response as soon as its head is there. */
export function opened(sim: Sim, { path, body }: Asked, signal?: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const options = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      ...(signal && { signal }),
    };
    httpRequest(`${sim.url}${path}`, options, resolve).on('error', reject).end(JSON.stringify(body));
  });
}

/** Asks, and listens to the end, however it comes. */
export async function heard(sim: Sim, asked: Asked): Promise<Heard> {
  const response = await opened(sim, asked);
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  const end = await new Promise<Heard['end']>((resolve) => {
    response.on('end', () => resolve('clean')).on('error', () => resolve('cut'));
  });
  return { status: response.statusCode ?? 0, headers: response.headers, chunks, end };
}

/** Listens until the predicate holds for what arrived so far; the response stays open. */
export async function heardUntil(
  response: IncomingMessage,
  enough: (text: string) => boolean,
): Promise<string> {
  let text = '';
  await new Promise<void>((resolve, reject) => {
    response.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (enough(text)) resolve();
    });
    response.on('close', () => reject(new Error(`it ended with ${text}`)));
    response.on('error', () => {});
  });
  return text;
}

export function bytesOf({ chunks }: Heard): Buffer {
  return Buffer.concat(chunks);
}

/** The payloads of a stream, framing removed. */
export function payloadsOf(wire: WireName, bytes: Buffer): readonly string[] {
  const reader = wire === 'ollama' ? lineReader() : sseReader();
  return [...reader.push(bytes), ...reader.end()];
}

/** The text of the answer so far. */
export function textIn(wire: WireName, bytes: Buffer): string {
  return payloadsOf(wire, bytes)
    .map((payload) => TEXT[wire](objectOf(tryParse(payload))))
    .join('');
}

type Payload = Readonly<Record<string, unknown>>;

const TEXT: Record<WireName, (payload: Payload) => string> = {
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
};

/** What ends a good stream, and nothing else. */
export const FINISH: Record<WireName, RegExp> = {
  anthropic: /message_stop/,
  'openai-chat': /\[DONE\]/,
  'openai-responses': /response\.completed/,
  gemini: /finishReason/,
  ollama: /"done":true/,
};
