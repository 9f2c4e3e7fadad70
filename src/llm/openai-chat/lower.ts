import type { JsonObject } from '../../base/index.ts';
import type { Content, Item, LlmRequest, ToolChoice, ItemOf } from '../request.ts';
import { contentText } from '../request.ts';
import { resultText } from '../tool-arguments.ts';

/** Converts our request to the body of a chat completion, in the form that all compatible servers accept. */
export function lower(request: LlmRequest): JsonObject {
  const { tools, stopSequences, temperature, maxTokens, thinking } = request;
  const isReasoning = isReasoningModel(request.model);
  return {
    model: request.model,
    stream: true,
    stream_options: { include_usage: true },
    messages: messagesOf(request),
    ...(tools?.length ? { tools: toolsOf(request) } : {}),
    ...(tools?.length && request.toolChoice ? { tool_choice: toolChoiceOf(request.toolChoice) } : {}),
    ...(maxTokens === undefined ? {} : { [isReasoning ? 'max_completion_tokens' : 'max_tokens']: maxTokens }),
    ...(temperature === undefined || isReasoning ? {} : { temperature }),
    ...(thinking === undefined || thinking === 'off' ? {} : { reasoning_effort: thinking }),
    ...(stopSequences?.length ? { stop: stopSequences } : {}),
  };
}

/** OpenAI's reasoning models reject a temperature and the old name of the token limit. */
function isReasoningModel(model: string): boolean {
  return /^(?:o\d|gpt-[5-9])/.test(model);
}

function toolsOf({ tools = [] }: LlmRequest): readonly JsonObject[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
}

function toolChoiceOf(choice: ToolChoice): unknown {
  return typeof choice === 'object' ? { type: 'function', function: { name: choice.name } } : choice;
}

type Message = { role: string } & Record<string, unknown>;

function messagesOf({ system, items }: LlmRequest): readonly Message[] {
  const messages: Message[] = system ? [{ role: 'system', content: system }] : [];
  // Tool messages hold only text, and all results must follow their calls directly: images are sent after the last result.
  let images: JsonObject[] = [];
  const flushImages = (): void => {
    if (images.length > 0) messages.push({ role: 'user', content: images });
    images = [];
  };
  for (const item of items) {
    if (item.type === 'tool-result') {
      const text = contentText(item.content);
      const resultImages = item.content.filter((part) => part.type === 'image').map(partOf);
      images.push(...resultImages);
      const resultContent = text === '' && resultImages.length > 0 ? '(see the image that follows)' : text;
      messages.push({
        role: 'tool',
        tool_call_id: item.callId,
        content: resultText(resultContent, item.isError),
      });
      continue;
    }
    flushImages();
    if (item.type === 'message' && item.role !== 'assistant') {
      messages.push({ role: item.role, content: contentOf(item.content) });
    } else addToAssistant(messages, item);
  }
  flushImages();
  return messages;
}

/** Merges consecutive thinking, text and calls into one assistant message. */
function addToAssistant(messages: Message[], item: Item): void {
  const fields = assistantFields(item);
  if (fields === undefined) return;
  const last = messages.at(-1);
  if (last?.role !== 'assistant') {
    messages.push({ role: 'assistant', content: null, ...fields });
    return;
  }
  for (const [name, value] of Object.entries(fields)) last[name] = mergeField(last[name], value);
}

function assistantFields(item: Item): JsonObject | undefined {
  switch (item.type) {
    case 'message':
      return { content: contentText(item.content) };
    case 'tool-call':
      return { tool_calls: [callOf(item)] };
    case 'reasoning':
      return item.seal?.wire === 'openai-chat' ? thinkingFields(item.text, item.seal.data) : undefined;
    default:
      return undefined;
  }
}

function callOf(item: ItemOf<'tool-call'>): JsonObject {
  const functionCall = { name: item.name, arguments: item.arguments || '{}' };
  const extra = item.seal?.wire === 'openai-chat' ? item.seal.data : {};
  return { id: item.callId, type: 'function', function: functionCall, ...extra };
}

/** Sends thinking back in the field in which the vendor sent it. */
function thinkingFields(text: string, data: JsonObject): JsonObject {
  if (data.field === 'content')
    return { content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] };
  const details = Array.isArray(data.details) ? { reasoning_details: data.details } : {};
  return { [data.field === 'reasoning' ? 'reasoning' : 'reasoning_content']: text, ...details };
}

function mergeField(before: unknown, more: unknown): unknown {
  if (typeof before === 'string' && typeof more === 'string') return before + more;
  if (typeof before === 'string' && before !== '') return mergeField([{ type: 'text', text: before }], more);
  if (Array.isArray(before))
    return [...before, ...(Array.isArray(more) ? more : [{ type: 'text', text: more }])];
  return more;
}

function contentOf(content: readonly Content[]): unknown {
  return content.every((part) => part.type === 'text') ? contentText(content) : content.map(partOf);
}

function partOf(part: Content): JsonObject {
  if (part.type === 'text') return { type: 'text', text: part.text };
  return { type: 'image_url', image_url: { url: `data:${part.mediaType};base64,${part.data}` } };
}
