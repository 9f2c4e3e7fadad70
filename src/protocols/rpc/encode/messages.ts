import { arrayOf, type JsonObject, parseObject, objectOf, stringOf } from '../../../base/index.ts';
import {
  type AgentMessage,
  type AnswerDetails,
  answerMessage,
  apiOf,
  brokenMessage,
  inputMessage,
  type OfferedModel,
  resultMessage,
} from '../../../pod/index.ts';
import type { RpcMessage, RpcModel, RpcThinking, RpcToolResult } from '../wire.ts';

/** The defaults of pi for a model without limits: clients calculate with these values without checking them. */
const ASSUMED = { contextWindow: 128_000, maxTokens: 16_384 };

/** All fields are set, because clients read them without checking. An unknown price is 0. */
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

/** All levels can be set for a model with reasoning: a level that its provider lacks is mapped to the nearest one. */
function thinkingFrame({ thinkingMode: mode = 'effort' }: OfferedModel): RpcThinking {
  return { mode, minLevel: 'minimal', maxLevel: 'xhigh' };
}

type InputItem = Parameters<typeof inputMessage>[0];
type ResultItem = Parameters<typeof resultMessage>[0];
type AnswerItems = Parameters<typeof answerMessage>[0];

/** A message of a person, or one sent on their behalf. */
export function inputFrame(item: InputItem, timestamp: number): RpcMessage {
  const { timestamp: at, ...message } = plain(inputMessage(item, timestamp));
  return { ...message, role: message.role, attribution: 'user', timestamp: at };
}

/** A message that no person wrote. */
export function customFrame({ content }: InputItem, customType: string, timestamp: number): RpcMessage {
  const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return { role: 'custom', customType, content: text, display: false, attribution: 'agent', timestamp };
}

export function answerFrame(items: AnswerItems, answer: AnswerDetails): RpcMessage {
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

/** An incomplete answer with its content so far. */
export function brokenFrame(items: AnswerItems, answer: AnswerDetails): RpcMessage {
  return plain(brokenMessage(items, answer));
}

/** The result of a call, as in tool events. */
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
  return parseObject(text) ?? {};
}

/** The text of all blocks of a message, joined. */
export function textOf({ content }: AgentMessage): string {
  if (typeof content === 'string') return content;
  return arrayOf(content)
    .map((block) => (objectOf(block).type === 'text' ? stringOf(objectOf(block).text) : ''))
    .join('');
}

/** Removes the fields that only our session file reader needs. */
function plain({ polypod: _, ...message }: AgentMessage): RpcMessage {
  return { ...message, role: message.role };
}
