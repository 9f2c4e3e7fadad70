import type { JsonObject } from '../../base/index.ts';
import { claudeThinking, refusesTemperature, thinkingBudget } from '../claude.ts';
import type { CacheMarkers, Content, Item, LlmRequest, ToolChoice, ItemOf } from '../request.ts';
import { argumentsObject } from '../tool-arguments.ts';

/** Converts our request to the body of a Messages API call. */
export function lower(request: LlmRequest): JsonObject {
  const thinking = claudeThinking(request);
  const { cache, tools, stopSequences, temperature } = request;
  return {
    model: request.model,
    max_tokens: maxTokensOf(request),
    stream: true,
    messages: messagesOf(request.items, cache),
    ...(request.system ? { system: [{ type: 'text', text: request.system, ...cacheMarker(cache) }] } : {}),
    ...(tools?.length ? { tools: toolsOf(request) } : {}),
    ...(tools?.length && request.toolChoice ? { tool_choice: toolChoiceOf(request.toolChoice) } : {}),
    ...thinking,
    // The API rejects a temperature together with thinking.
    ...(temperature !== undefined && !('thinking' in thinking) && !refusesTemperature(request.model)
      ? { temperature }
      : {}),
    ...(stopSequences?.length ? { stop_sequences: stopSequences } : {}),
  };
}

/** The API requires a limit. This is what every model since Claude 3.7 allows; the older ones allow less. */
const DEFAULT_MAX_TOKENS = 32_000;
const OLD_MAX_TOKENS = 4096;
/** The room for the answer beside a thinking budget. */
const ANSWER_TOKENS = 8192;

function isOld(model: string): boolean {
  return /claude-(?:2|instant|3-(?!7))/.test(model);
}

/** The thinking budget is part of max_tokens and must leave room for the answer. */
function maxTokensOf(request: LlmRequest): number {
  const { model, maxTokens } = request;
  const budget = thinkingBudget(request);
  const requested = maxTokens ?? (isOld(model) ? OLD_MAX_TOKENS : DEFAULT_MAX_TOKENS);
  if (budget === 0) return requested;
  if (maxTokens === undefined) return Math.max(requested, budget + ANSWER_TOKENS);
  return requested > budget ? requested : budget + requested;
}

function toolsOf({ tools = [], system, cache }: LlmRequest): readonly JsonObject[] {
  return tools.map(({ name, description, parameters }, at) => ({
    name,
    description,
    input_schema: parameters,
    // Tools precede the system prompt, whose cache marker covers them. Without a system prompt, the last tool is marked.
    ...(at === tools.length - 1 && !system ? cacheMarker(cache) : {}),
  }));
}

function toolChoiceOf(choice: ToolChoice): JsonObject {
  if (typeof choice === 'object') return { type: 'tool', name: choice.name };
  return { type: choice === 'required' ? 'any' : choice };
}

interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: JsonObject[];
}

/** Merges consecutive assistant items into one message, and consecutive results and user messages into another. */
function messagesOf(items: readonly Item[], cache: CacheMarkers | undefined): readonly Message[] {
  const marked = markedItems(items, cache);
  const messages: Message[] = [];
  for (const [at, item] of items.entries()) {
    const blocks = blocksOf(item);
    const last = blocks.at(-1);
    if (last === undefined) continue;
    if (marked.has(at) && canHaveMarker(last)) blocks.splice(-1, 1, { ...last, ...cacheMarker(cache) });
    const role = isAssistant(item) ? 'assistant' : 'user';
    const open = messages.at(-1);
    if (open?.role === role) open.content.push(...blocks);
    else messages.push({ role, content: blocks });
  }
  return messages;
}

/** Marks the anchor, the item before the last user message, and the last item. With the system prompt, these are the four markers allowed. */
function markedItems(items: readonly Item[], cache: CacheMarkers | undefined): ReadonlySet<number> {
  if (cache === undefined) return new Set();
  const lastUser = items.findLastIndex((item) => item.type === 'message' && item.role === 'user');
  return new Set([cache.anchor ?? -1, lastUser - 1, items.length - 1]);
}

function canHaveMarker(block: JsonObject): boolean {
  return block.type !== 'thinking' && block.type !== 'redacted_thinking';
}

function cacheMarker(cache: CacheMarkers | undefined): JsonObject {
  if (cache === undefined) return {};
  return { cache_control: { type: 'ephemeral', ...(cache.ttl === '1h' ? { ttl: '1h' } : {}) } };
}

function isAssistant(item: Item): boolean {
  if (item.type === 'message') return item.role === 'assistant';
  return item.type !== 'tool-result';
}

function blocksOf(item: Item): JsonObject[] {
  switch (item.type) {
    case 'message':
      return contentOf(item.content, item.seal?.wire === 'anthropic' ? item.seal.data : {});
    case 'tool-call':
      return [callOf(item)];
    case 'tool-result': {
      const content = contentOf(item.content, {});
      return [
        {
          type: 'tool_result',
          tool_use_id: validId(item.callId),
          content,
          ...(item.isError ? { is_error: true } : {}),
        },
      ];
    }
    case 'reasoning':
      return item.seal?.wire === 'anthropic' ? thinkingBlocks(item.text, item.seal.data) : [];
    case 'opaque':
      return item.seal.wire === 'anthropic' ? opaqueBlocks(item.seal.data) : [];
  }
}

function callOf({ callId, name, arguments: text, seal }: ItemOf<'tool-call'>): JsonObject {
  const caller = seal?.wire === 'anthropic' && seal.data.caller ? { caller: seal.data.caller } : {};
  return { type: 'tool_use', id: validId(callId), name, input: argumentsObject(text), ...caller };
}

/** Leaves out empty text, which the API rejects. */
function contentOf(content: readonly Content[], extra: JsonObject): JsonObject[] {
  return content.flatMap((part): JsonObject[] => {
    if (part.type === 'image') {
      return [{ type: 'image', source: { type: 'base64', media_type: part.mediaType, data: part.data } }];
    }
    return part.text === '' ? [] : [{ type: 'text', text: part.text, ...extra }];
  });
}

/** Only sealed thinking gets here: the API rejects unsigned thinking. */
function thinkingBlocks(text: string, data: JsonObject): JsonObject[] {
  if (typeof data.redacted === 'string') return [{ type: 'redacted_thinking', data: data.redacted }];
  return [{ type: 'thinking', thinking: text, signature: data.signature }];
}

function opaqueBlocks(data: JsonObject): JsonObject[] {
  return typeof data.block === 'object' && data.block !== null ? [{ ...data.block }] : [];
}

/** Replaces characters that the API rejects in ids of other providers, in the same way for call and result. */
function validId(callId: string): string {
  return callId.replace(/[^a-zA-Z0-9_-]/g, '_');
}
