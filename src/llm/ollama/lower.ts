import { type JsonObject, withoutUndefined } from '../../base/index.ts';
import type { Content, Item, LlmRequest, ThinkingLevel } from '../request.ts';
import { contentText } from '../request.ts';
import { argumentsObject, resultText } from '../tool-arguments.ts';

/** Converts our request to the body of a native /api/chat call. */
export function lower(request: LlmRequest): JsonObject {
  const { tools, thinking } = request;
  const options = optionsOf(request);
  return {
    model: request.model,
    stream: true,
    messages: messagesOf(request),
    // The API has no tool choice: for `none`, no tools are offered.
    ...(tools?.length && request.toolChoice !== 'none' ? { tools: toolsOf(request) } : {}),
    ...(thinking === undefined ? {} : { think: thinkOf(request.model, thinking) }),
    ...(Object.keys(options).length > 0 ? { options } : {}),
  };
}

function optionsOf({ maxTokens, temperature, stopSequences }: LlmRequest): JsonObject {
  return {
    ...withoutUndefined({ num_predict: maxTokens, temperature }),
    ...(stopSequences?.length ? { stop: stopSequences } : {}),
  };
}

/** gpt-oss accepts levels, all other models a boolean. */
function thinkOf(model: string, level: ThinkingLevel): boolean | string {
  if (!model.includes('gpt-oss')) return level !== 'off';
  if (level === 'off' || level === 'minimal') return 'low';
  return level === 'xhigh' ? 'high' : level;
}

function toolsOf({ tools = [] }: LlmRequest): readonly JsonObject[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
}

interface Message {
  role: string;
  content: string;
  thinking?: string;
  images?: string[];
  tool_calls?: JsonObject[];
  tool_name?: string;
}

function messagesOf({ system, items }: LlmRequest): readonly Message[] {
  const names = new Map<string, string>();
  const messages: Message[] = system ? [{ role: 'system', content: system }] : [];
  for (const item of items) {
    if (item.type === 'tool-call') names.set(item.callId, item.name);
    if (item.type === 'tool-result') {
      const content = resultText(contentText(item.content), item.isError);
      messages.push({
        role: 'tool',
        tool_name: names.get(item.callId) ?? '',
        content,
        ...imagesOf(item.content),
      });
    } else if (item.type === 'message' && item.role !== 'assistant') {
      messages.push({ role: item.role, content: contentText(item.content), ...imagesOf(item.content) });
    } else addToAssistant(messages, item);
  }
  return messages;
}

function addToAssistant(messages: Message[], item: Item): void {
  if (item.type === 'opaque' || (item.type === 'reasoning' && item.seal?.wire !== 'ollama')) return;
  const last = messages.at(-1);
  const message: Message = last?.role === 'assistant' ? last : { role: 'assistant', content: '' };
  if (message !== last) messages.push(message);
  if (item.type === 'message') message.content += contentText(item.content);
  else if (item.type === 'reasoning') message.thinking = (message.thinking ?? '') + item.text;
  else if (item.type === 'tool-call') {
    const call = { function: { name: item.name, arguments: argumentsObject(item.arguments) } };
    message.tool_calls = [...(message.tool_calls ?? []), call];
  }
}

function imagesOf(content: readonly Content[]): { images?: string[] } {
  const images = content.flatMap((part) => (part.type === 'image' ? [part.data] : []));
  return images.length > 0 ? { images } : {};
}
