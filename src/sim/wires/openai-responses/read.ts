import { type JsonObject, objectOf, stringOf, tryParse } from '../../../base/index.ts';
import { gather, type GatheredText, type SimRequest } from '../../request.ts';
import { objectsOf, textOf } from '../content.ts';

export function read(body: JsonObject): SimRequest {
  const items = typeof body['input'] === 'string' ? [userItem(body['input'])] : objectsOf(body['input']);
  return {
    wire: 'openai-responses',
    model: stringOf(body['model']),
    stream: body['stream'] === true,
    system: [stringOf(body['instructions']), ...items.filter(isSystem).map((item) => textOf(item['content']))]
      .filter((text) => text !== '')
      .join('\n'),
    messages: gather(items.filter((item) => !isSystem(item)).flatMap(said)),
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

function said(item: JsonObject): readonly GatheredText[] {
  if (item['type'] === 'function_call') return [{ role: 'assistant', call: callOf(item) }];
  if (item['type'] === 'function_call_output') return [{ role: 'tool', result: resultOf(item) }];
  if (item['role'] === undefined) return [];
  return [{ role: item['role'] === 'assistant' ? 'assistant' : 'user', text: textOf(item['content']) }];
}

function callOf(item: JsonObject) {
  return {
    id: stringOf(item['call_id']),
    name: stringOf(item['name']),
    arguments: tryParse(stringOf(item['arguments'])),
  };
}

function resultOf(item: JsonObject) {
  return { id: stringOf(item['call_id']), name: '', text: textOf(item['output']), isError: false };
}
