import type { JsonObject } from '../../base/index.ts';
import type {
  CacheMarkers,
  Content,
  Item,
  LlmRequest,
  ThinkingLevel,
  ToolChoice,
  ItemOf,
} from '../request.ts';
import { argumentsObject } from '../tool-arguments.ts';

/** Our request as the body of a Messages API call. */
export function lower(request: LlmRequest): JsonObject {
  const thinking = thinkingOf(request);
  const { cache, tools, stopSequences, temperature } = request;
  return {
    model: request.model,
    max_tokens: maxTokensOf(request),
    stream: true,
    messages: messagesOf(request.items, cache),
    ...(request.system ? { system: [{ type: 'text', text: request.system, ...mark(cache) }] } : {}),
    ...(tools?.length ? { tools: toolsOf(request) } : {}),
    ...(tools?.length && request.toolChoice ? { tool_choice: toolChoiceOf(request.toolChoice) } : {}),
    ...thinking,
    // The API refuses a temperature beside thinking.
    ...(temperature !== undefined && !('thinking' in thinking) && !refusesTemperature(request.model)
      ? { temperature }
      : {}),
    ...(stopSequences?.length ? { stop_sequences: stopSequences } : {}),
  };
}

const BUDGETS: Readonly<Record<Exclude<ThinkingLevel, 'off'>, number>> = {
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 32_000,
};

const EFFORTS: Readonly<Record<Exclude<ThinkingLevel, 'off'>, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'max',
};

const DEFAULT_MAX_TOKENS = 8192;

function thinkingOf({ model, thinking }: LlmRequest): JsonObject {
  if (thinking === undefined || thinking === 'off') return {};
  if (thinksByEffort(model)) {
    return { thinking: { type: 'adaptive' }, output_config: { effort: EFFORTS[thinking] } };
  }
  return { thinking: { type: 'enabled', budget_tokens: BUDGETS[thinking] } };
}

/** From 4.6 on the models decide how long to think; a budget is for those before. */
export function thinksByEffort(model: string): boolean {
  return versionOf(model) > 4.5;
}

/** From 5 on a temperature is refused. */
function refusesTemperature(model: string): boolean {
  return versionOf(model) >= 5;
}

/** A Claude without a version is taken for one of the newest; others that speak this wire do as the first ones did. */
function versionOf(model: string): number {
  if (!model.includes('claude')) return 0;
  if (/claude-(?:[23]|instant)/.test(model)) return 3;
  const [, major, minor = '0'] = /(?:^|-)[a-z]+-(\d{1,2})(?:-(\d{1,2})(?!\d))?(?!\d)/.exec(model) ?? [];
  return major === undefined ? Number.POSITIVE_INFINITY : Number(`${major}.${minor}`);
}

/** The budget is part of max_tokens and has to leave room for the answer. */
function maxTokensOf({ model, thinking, maxTokens }: LlmRequest): number {
  const wanted = maxTokens ?? DEFAULT_MAX_TOKENS;
  if (thinking === undefined || thinking === 'off' || thinksByEffort(model)) return wanted;
  return wanted > BUDGETS[thinking] ? wanted : BUDGETS[thinking] + wanted;
}

function toolsOf({ tools = [], system, cache }: LlmRequest): readonly JsonObject[] {
  return tools.map(({ name, description, parameters }, at) => ({
    name,
    description,
    input_schema: parameters,
    // Tools come before the system prompt: its marker covers them, unless there is none.
    ...(at === tools.length - 1 && !system ? mark(cache) : {}),
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

/** Assistant items in a row are one message, and so are results and user messages. */
function messagesOf(items: readonly Item[], cache: CacheMarkers | undefined): readonly Message[] {
  const marked = markedItems(items, cache);
  const messages: Message[] = [];
  for (const [at, item] of items.entries()) {
    const blocks = blocksOf(item);
    const last = blocks.at(-1);
    if (last === undefined) continue;
    if (marked.has(at) && canCarryMark(last)) blocks.splice(-1, 1, { ...last, ...mark(cache) });
    const role = isAssistant(item) ? 'assistant' : 'user';
    const open = messages.at(-1);
    if (open?.role === role) open.content.push(...blocks);
    else messages.push({ role, content: blocks });
  }
  return messages;
}

/** The anchor, the item before the last user message, and the last item: with the system prompt, the four allowed. */
function markedItems(items: readonly Item[], cache: CacheMarkers | undefined): ReadonlySet<number> {
  if (cache === undefined) return new Set();
  const lastUser = items.findLastIndex((item) => item.type === 'message' && item.role === 'user');
  return new Set([cache.anchor ?? -1, lastUser - 1, items.length - 1]);
}

function canCarryMark(block: JsonObject): boolean {
  return block.type !== 'thinking' && block.type !== 'redacted_thinking';
}

function mark(cache: CacheMarkers | undefined): JsonObject {
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
          tool_use_id: idOf(item.callId),
          content,
          ...(item.isError ? { is_error: true } : {}),
        },
      ];
    }
    case 'reasoning':
      return item.seal?.wire === 'anthropic' ? thoughtOf(item.text, item.seal.data) : [];
    case 'opaque':
      return item.seal.wire === 'anthropic' ? opaqueOf(item.seal.data) : [];
  }
}

function callOf({ callId, name, arguments: text, seal }: ItemOf<'tool-call'>): JsonObject {
  const caller = seal?.wire === 'anthropic' && seal.data.caller ? { caller: seal.data.caller } : {};
  return { type: 'tool_use', id: idOf(callId), name, input: argumentsObject(text), ...caller };
}

/** Empty text is refused by the API. */
function contentOf(content: readonly Content[], extra: JsonObject): JsonObject[] {
  return content.flatMap((part): JsonObject[] => {
    if (part.type === 'image') {
      return [{ type: 'image', source: { type: 'base64', media_type: part.mediaType, data: part.data } }];
    }
    return part.text === '' ? [] : [{ type: 'text', text: part.text, ...extra }];
  });
}

/** Unsigned thoughts cannot be sent back: the API refuses them. */
function thoughtOf(text: string, data: JsonObject): JsonObject[] {
  if (typeof data.redacted === 'string') return [{ type: 'redacted_thinking', data: data.redacted }];
  return [{ type: 'thinking', thinking: text, signature: data.signature }];
}

function opaqueOf(data: JsonObject): JsonObject[] {
  return typeof data.block === 'object' && data.block !== null ? [{ ...data.block }] : [];
}

/** Ids of other wires may hold characters that this one refuses; call and result change alike. */
function idOf(callId: string): string {
  return callId.replace(/[^a-zA-Z0-9_-]/g, '_');
}
