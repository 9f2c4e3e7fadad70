import { isObject, type JsonObject, withoutUndefined } from '../../base/index.ts';
import type { Content, Item, LlmRequest, ToolChoice, ItemOf } from '../request.ts';
import { contentText } from '../request.ts';
import { resultText } from '../tool-arguments.ts';

/**
 * Converts our request to the body of a Responses API call. Nothing is stored at the provider, so reasoning is sent back
 * encrypted. The API has no stop sequences.
 */
export function lower(request: LlmRequest): JsonObject {
  const { tools, temperature, maxTokens, thinking } = request;
  const isReasoning = isReasoningModel(request.model) || (thinking !== undefined && thinking !== 'off');
  return {
    model: request.model,
    stream: true,
    store: false,
    input: request.items.flatMap(inputOf),
    ...(request.system ? { instructions: request.system } : {}),
    ...(tools?.length ? { tools: toolsOf(request) } : {}),
    ...(tools?.length && request.toolChoice ? { tool_choice: toolChoiceOf(request.toolChoice) } : {}),
    ...withoutUndefined({ max_output_tokens: maxTokens }),
    ...(temperature === undefined || isReasoning ? {} : { temperature }),
    ...(isReasoning ? { include: ['reasoning.encrypted_content'] } : {}),
    ...reasoningOf(request),
  };
}

function isReasoningModel(model: string): boolean {
  return /^(?:o\d|gpt-[5-9]|codex)/.test(model) && !model.includes('-chat');
}

function reasoningOf({ model, thinking }: LlmRequest): JsonObject {
  if (thinking === undefined) return {};
  if (thinking !== 'off') return { reasoning: { effort: thinking, summary: 'auto' } };
  // Reasoning can be disabled from 5.1 on; older models get the lowest effort.
  if (/^gpt-5\.[1-9]/.test(model)) return { reasoning: { effort: 'none' } };
  return isReasoningModel(model)
    ? { reasoning: { effort: model.startsWith('gpt-5') ? 'minimal' : 'low' } }
    : {};
}

function toolsOf({ tools = [] }: LlmRequest): readonly JsonObject[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    name,
    description,
    parameters,
    // Strict mode rewrites schemas: optional arguments would have to be declared differently.
    strict: false,
  }));
}

function toolChoiceOf(choice: ToolChoice): unknown {
  return typeof choice === 'object' ? { type: 'function', name: choice.name } : choice;
}

function inputOf(item: Item): readonly JsonObject[] {
  switch (item.type) {
    case 'message':
      return item.role === 'assistant' ? assistantMessage(item) : [userMessage(item.role, item.content)];
    case 'tool-call':
      return [callOf(item)];
    case 'tool-result':
      return [{ type: 'function_call_output', call_id: item.callId, output: outputOf(item) }];
    case 'reasoning':
      return item.seal?.wire === 'openai-responses' ? reasoningItem(item.seal.data) : [];
    case 'opaque':
      return item.seal.wire === 'openai-responses' && isObject(item.seal.data.item)
        ? [item.seal.data.item]
        : [];
  }
}

function assistantMessage({ content, seal }: ItemOf<'message'>): readonly JsonObject[] {
  const text = contentText(content);
  const phase = seal?.wire === 'openai-responses' && seal.data.phase ? { phase: seal.data.phase } : {};
  return text === ''
    ? []
    : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }], ...phase }];
}

function userMessage(role: string, content: readonly Content[]): JsonObject {
  return { type: 'message', role, content: content.map(partOf) };
}

function partOf(part: Content): JsonObject {
  if (part.type === 'text') return { type: 'input_text', text: part.text };
  return { type: 'input_image', image_url: `data:${part.mediaType};base64,${part.data}` };
}

function callOf(item: ItemOf<'tool-call'>): JsonObject {
  const { callId, name } = item;
  const { custom, ...extras } = item.seal?.wire === 'openai-responses' ? item.seal.data : { custom: false };
  if (custom === true)
    return { type: 'custom_tool_call', call_id: callId, name, input: item.arguments, ...extras };
  return { type: 'function_call', call_id: callId, name, arguments: item.arguments || '{}', ...extras };
}

function outputOf({ content, isError }: ItemOf<'tool-result'>): unknown {
  const hasImage = content.some((part) => part.type === 'image');
  return hasImage ? content.map(partOf) : resultText(contentText(content), isError);
}

/** Reasoning can only be sent back with its encrypted content, because nothing is stored at the provider. */
function reasoningItem({ id, summary, content, encrypted_content }: JsonObject): readonly JsonObject[] {
  if (typeof encrypted_content !== 'string') return [];
  const contentField = Array.isArray(content) && content.length > 0 ? { content } : {};
  return [{ type: 'reasoning', id, summary, ...contentField, encrypted_content }];
}
