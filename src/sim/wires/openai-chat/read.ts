import { type JsonObject, objectOf, stringOf, tryParse } from '../../../base/index.ts';
import { gather, type GatheredText, type SimRequest } from '../../request.ts';
import { objectsOf, textOf } from '../content.ts';

export function read(body: JsonObject): SimRequest {
  const messages = objectsOf(body['messages']);
  return {
    wire: 'openai-chat',
    model: stringOf(body['model']),
    stream: body['stream'] === true,
    system: messages
      .filter(isSystem)
      .map((message) => textOf(message['content']))
      .join('\n'),
    messages: gather(messages.filter((message) => !isSystem(message)).flatMap(said)),
    tools: objectsOf(body['tools']).map((tool) => {
      const declared = objectOf(tool['function']);
      return { name: stringOf(declared['name']), parameters: objectOf(declared['parameters']) };
    }),
    body,
  };
}

function isSystem(message: JsonObject): boolean {
  return message['role'] === 'system' || message['role'] === 'developer';
}

function said(message: JsonObject): readonly GatheredText[] {
  const text = textOf(message['content']);
  if (message['role'] === 'tool') {
    const id = stringOf(message['tool_call_id']);
    return [{ role: 'tool', result: { id, name: '', text, isError: false } }];
  }
  if (message['role'] !== 'assistant') return [{ role: 'user', text }];
  const calls = objectsOf(message['tool_calls']).map(
    (call): GatheredText => ({ role: 'assistant', call: callOf(call) }),
  );
  return text === '' && calls.length > 0 ? calls : [{ role: 'assistant', text }, ...calls];
}

function callOf(call: JsonObject) {
  const declared = objectOf(call['function']);
  return {
    id: stringOf(call['id']),
    name: stringOf(declared['name']),
    arguments: tryParse(stringOf(declared['arguments'])),
  };
}
