import { type JsonObject, objectOf, stringOf, tryParse } from '../../../base/index.ts';
import { groupMessages, type MessagePart, type SimRequest } from '../../request.ts';
import { objectsOf, contentText } from '../content.ts';

export function read(body: JsonObject): SimRequest {
  const items = typeof body['input'] === 'string' ? [userItem(body['input'])] : objectsOf(body['input']);
  return {
    api: 'openai-responses',
    model: stringOf(body['model']),
    stream: body['stream'] === true,
    system: [
      stringOf(body['instructions']),
      ...items.filter(isSystem).map((item) => contentText(item['content'])),
    ]
      .filter((text) => text !== '')
      .join('\n'),
    messages: groupMessages(items.filter((item) => !isSystem(item)).flatMap(messageParts)),
    tools: objectsOf(body['tools']).map((tool) => ({
      name: stringOf(tool['name']),
      parameters: objectOf(tool['parameters']),
    })),
    body,
  };
}

function userItem(content: string): JsonObject {
  return { role: 'user', content };
}

function isSystem(item: JsonObject): boolean {
  return item['role'] === 'system' || item['role'] === 'developer';
}

function messageParts(item: JsonObject): readonly MessagePart[] {
  if (item['type'] === 'function_call') return [{ role: 'assistant', call: parseCall(item) }];
  if (item['type'] === 'function_call_output') return [{ role: 'tool', result: parseResult(item) }];
  if (item['role'] === undefined) return [];
  return [{ role: item['role'] === 'assistant' ? 'assistant' : 'user', text: contentText(item['content']) }];
}

function parseCall(item: JsonObject) {
  return {
    id: stringOf(item['call_id']),
    name: stringOf(item['name']),
    arguments: tryParse(stringOf(item['arguments'])),
  };
}

function parseResult(item: JsonObject) {
  return { id: stringOf(item['call_id']), name: '', text: contentText(item['output']), isError: false };
}
