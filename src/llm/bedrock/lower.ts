import { type JsonObject, withoutUndefined } from '../../base/index.ts';
import {
  claudeThinking,
  claudeVersion,
  interleavedThinkingBeta,
  refusesTemperature,
  thinkingBudget,
} from '../claude.ts';
import type { Content, Item, ItemOf, LlmRequest, ToolChoice } from '../request.ts';
import { argumentsObject, resultText } from '../tool-arguments.ts';

/** Converts our request to the body of a ConverseStream call. The model is part of the URL. */
export function lower(request: LlmRequest): JsonObject {
  const { system } = request;
  const toolConfig = toolConfigOf(request);
  const inferenceConfig = inferenceConfigOf(request);
  const modelFields = modelFieldsOf(request);
  return {
    messages: messagesOf(request),
    ...(system ? { system: [{ text: system }, ...cachePoint(request)] } : {}),
    ...withoutUndefined({ toolConfig }),
    ...(Object.keys(inferenceConfig).length > 0 ? { inferenceConfig } : {}),
    ...(Object.keys(modelFields).length > 0 ? { additionalModelRequestFields: modelFields } : {}),
  };
}

function inferenceConfigOf(request: LlmRequest): JsonObject {
  const { model, stopSequences, maxTokens, thinking } = request;
  const isThinking = isClaude(model) && thinking !== undefined && thinking !== 'off';
  const temperature = isThinking || refusesTemperature(model) ? undefined : request.temperature;
  return {
    ...withoutUndefined({ maxTokens: maxTokens && withBudget(maxTokens, request), temperature }),
    ...(stopSequences?.length ? { stopSequences } : {}),
  };
}

/** The thinking budget is part of the limit and must leave room for the answer. */
function withBudget(maxTokens: number, request: LlmRequest): number {
  const budget = isClaude(request.model) ? thinkingBudget(request) : 0;
  return maxTokens > budget ? maxTokens : budget + maxTokens;
}

/** What Converse does not unify: every vendor has its own field for thinking. Models of others get none. */
function modelFieldsOf(request: LlmRequest): JsonObject {
  const { model, thinking } = request;
  if (isClaude(model)) {
    const beta = interleavedThinkingBeta(request);
    return { ...claudeThinking(request), ...(beta === undefined ? {} : { anthropic_beta: [beta] }) };
  }
  if (thinking === undefined || thinking === 'off') return {};
  const isLow = thinking === 'minimal' || thinking === 'low';
  if (/\bopenai\./.test(model))
    return { reasoning_effort: isLow ? 'low' : thinking === 'medium' ? 'medium' : 'high' };
  // With the effort "high", the API rejects a token limit.
  if (/\bnova-2/.test(model))
    return { reasoningConfig: { type: 'enabled', maxReasoningEffort: isLow ? 'low' : 'medium' } };
  return {};
}

function isClaude(model: string): boolean {
  return model.includes('claude');
}

/** Only these models accept cache points; others reject the request. */
function canCache(model: string): boolean {
  return /\bnova\b/.test(model) || (isClaude(model) && !/claude-(?:2|instant|3-(?!7|5-haiku))/.test(model));
}

function cachePoint({ model, cache }: LlmRequest): readonly JsonObject[] {
  if (cache === undefined || !canCache(model)) return [];
  // Older models have only the default of five minutes.
  const ttl = cache.ttl === '1h' && claudeVersion(model) >= 4.5 ? { ttl: '1h' } : {};
  return [{ cachePoint: { type: 'default', ...ttl } }];
}

/** The API has no tool choice `none`, and rejects calls in the conversation if no tools are declared. */
function toolConfigOf(request: LlmRequest): JsonObject | undefined {
  const { tools = [], toolChoice, items, system } = request;
  const called = items.flatMap((item) => (item.type === 'tool-call' ? [item.name] : []));
  if (tools.length === 0 || (toolChoice === 'none' && called.length === 0))
    return called.length === 0 ? undefined : { tools: [...new Set(called)].map(undescribedTool) };
  return {
    tools: [
      ...tools.map(({ name, description, parameters }) => ({
        toolSpec: { name, ...(description ? { description } : {}), inputSchema: { json: parameters } },
      })),
      // Tools precede the system prompt, whose cache point covers them.
      ...(system ? [] : cachePoint(request)),
    ],
    ...(toolChoice && toolChoice !== 'none' ? { toolChoice: toolChoiceOf(toolChoice) } : {}),
  };
}

function undescribedTool(name: string): JsonObject {
  return {
    toolSpec: { name, description: 'No longer available.', inputSchema: { json: { type: 'object' } } },
  };
}

function toolChoiceOf(choice: Exclude<ToolChoice, 'none'>): JsonObject {
  if (typeof choice === 'object') return { tool: { name: choice.name } };
  return choice === 'required' ? { any: {} } : { auto: {} };
}

interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: JsonObject[];
}

/** Merges consecutive assistant items into one message, and consecutive results and user messages into another. */
function messagesOf(request: LlmRequest): readonly Message[] {
  const { items, model } = request;
  const marked = markedItems(request);
  const messages: Message[] = [];
  for (const [at, item] of items.entries()) {
    const blocks = blocksOf(item, model);
    const last = blocks.at(-1);
    if (last === undefined) continue;
    // The API rejects a cache point right after reasoning.
    if (marked.has(at) && !('reasoningContent' in last)) blocks.push(...cachePoint(request));
    const role = isAssistant(item) ? 'assistant' : 'user';
    const open = messages.at(-1);
    if (open?.role === role) open.content.push(...blocks);
    else messages.push({ role, content: blocks });
  }
  return messages;
}

/** Marks the anchor, the item before the last user message, and the last item. With the system prompt, these are the four points allowed. */
function markedItems({ items, cache }: LlmRequest): ReadonlySet<number> {
  if (cache === undefined) return new Set();
  const lastUser = items.findLastIndex((item) => item.type === 'message' && item.role === 'user');
  return new Set([cache.anchor ?? -1, lastUser - 1, items.length - 1]);
}

function isAssistant(item: Item): boolean {
  if (item.type === 'message') return item.role === 'assistant';
  return item.type !== 'tool-result';
}

function blocksOf(item: Item, model: string): JsonObject[] {
  switch (item.type) {
    case 'message':
      return contentOf(item.content);
    case 'tool-call':
      return [
        {
          toolUse: {
            toolUseId: validId(item.callId),
            name: item.name,
            input: argumentsObject(item.arguments),
          },
        },
      ];
    case 'tool-result':
      return [{ toolResult: resultOf(item, model) }];
    case 'reasoning':
      return item.seal?.wire === 'bedrock' ? reasoningOf(item.text, item.seal.data) : [];
    case 'opaque':
      return [];
  }
}

function resultOf({ callId, content, isError }: ItemOf<'tool-result'>, model: string): JsonObject {
  // Only these models accept a status.
  const hasStatus = isClaude(model) || /\bnova\b/.test(model);
  const blocks = contentOf(
    hasStatus
      ? content
      : content.map((part) =>
          part.type === 'text' ? { ...part, text: resultText(part.text, isError) } : part,
        ),
  );
  return {
    toolUseId: validId(callId),
    content: blocks.length === 0 ? [{ text: '(no output)' }] : blocks,
    ...(isError && hasStatus ? { status: 'error' } : {}),
  };
}

/** Leaves out blank text, which the API rejects. */
function contentOf(content: readonly Content[]): JsonObject[] {
  return content.flatMap((part): JsonObject[] => {
    if (part.type === 'text') return part.text.trim() === '' ? [] : [{ text: part.text }];
    const format = part.mediaType.replace(/^image\//, '').replace(/^jpg$/, 'jpeg');
    return [{ image: { format, source: { bytes: part.data } } }];
  });
}

/** Only sealed thinking gets here: models that sign their thinking reject thinking without a signature. */
function reasoningOf(text: string, data: JsonObject): JsonObject[] {
  if (typeof data.redacted === 'string') return [{ reasoningContent: { redactedContent: data.redacted } }];
  return [
    { reasoningContent: { reasoningText: { text, ...withoutUndefined({ signature: data.signature }) } } },
  ];
}

/** Replaces what the API rejects in ids of other providers, in the same way for call and result. */
function validId(callId: string): string {
  return callId.replace(/[^a-zA-Z0-9_-]/g, '_').slice(-64);
}
