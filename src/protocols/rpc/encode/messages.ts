import { arrayOf, type JsonObject, objectIn, objectOf, stringOf } from '../../../base/index.ts';
import {
  type AgentMessage,
  type Answer,
  answerMessage,
  apiOf,
  brokenMessage,
  inputMessage,
  type OfferedModel,
  resultMessage,
} from '../../../pod/index.ts';
import type { RpcMessage, RpcModel, RpcThinking, RpcToolResult } from '../wire.ts';

/** What pi assumes of a model that does not say it: clients of the protocol compute with these without a look. */
const ASSUMED = { contextWindow: 128_000, maxTokens: 16_384 };

/** Complete, because clients of the protocol read it without a look; an unknown price becomes 0 there. */
export function modelFrame(model: OfferedModel): RpcModel {
  const { provider, id, name, wire, baseUrl, reasoning, input, cost } = model;
  const { input: asked = 0, output = 0, cacheRead = 0, cacheWrite = 0 } = cost ?? {};
  return {
    id,
    name,
    api: apiOf(wire),
    provider,
    baseUrl,
    reasoning,
    ...(reasoning ? { thinking: thinkingFrame(model) } : {}),
    input,
    cost: { input: asked, output, cacheRead, cacheWrite },
    contextWindow: model.contextWindow ?? ASSUMED.contextWindow,
    maxTokens: model.maxTokens ?? ASSUMED.maxTokens,
  };
}

/** Every level can be set for a model that reasons: what its provider does not know becomes the nearest that it does. */
function thinkingFrame({ thinkingMode: mode = 'effort' }: OfferedModel): RpcThinking {
  return { mode, minLevel: 'minimal', maxLevel: 'xhigh' };
}

type InputItem = Parameters<typeof inputMessage>[0];
type ResultItem = Parameters<typeof resultMessage>[0];
type AnswerItems = Parameters<typeof answerMessage>[0];

/** What a person said, or what was said in their place. */
export function inputFrame(item: InputItem, timestamp: number): RpcMessage {
  const { timestamp: at, ...message } = plain(inputMessage(item, timestamp));
  return { ...message, role: message.role, attribution: 'user', timestamp: at };
}

/** What no person wrote. */
export function customFrame({ content }: InputItem, customType: string, timestamp: number): RpcMessage {
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return { role: 'custom', customType, content: text, display: false, attribution: 'agent', timestamp };
}

export function answerFrame(items: AnswerItems, answer: Answer): RpcMessage {
  return plain(answerMessage(items, answer));
}

export function resultFrame(
  item: ResultItem,
  toolName: string,
  timestamp: number,
  details: unknown,
): RpcMessage {
  return plain(resultMessage(item, toolName, timestamp, details));
}

/** An answer that broke off, with what there is of it. */
export function brokenFrame(items: AnswerItems, answer: Answer): RpcMessage {
  return plain(brokenMessage(items, answer));
}

/** What a call brought, in the spelling of tool events. */
export function toolResultFrame(output: {
  readonly content: ResultItem['content'];
  readonly isError: boolean;
  readonly details?: JsonObject;
}): RpcToolResult {
  const content = output.content.map(
    (part): JsonObject =>
      part.type === 'text' ? part : { type: 'image', data: part.data, mimeType: part.mediaType },
  );
  const details = output.details ?? (output.isError ? {} : undefined);
  return details === undefined ? { content } : { content, details };
}

export function argumentsFrame(text: string): JsonObject {
  return objectIn(text) ?? {};
}

/** The text of a message, its blocks joined. */
export function textOf({ content }: AgentMessage): string {
  if (typeof content === 'string') return content;
  return arrayOf(content)
    .map((block) => (objectOf(block).type === 'text' ? stringOf(objectOf(block).text) : ''))
    .join('');
}

/** Without what only our own reader of the file needs. */
function plain({ polypod: _, ...message }: AgentMessage): RpcMessage {
  return { ...message, role: message.role };
}
