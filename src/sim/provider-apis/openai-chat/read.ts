import { type JsonObject, objectOf, stringOf, tryParse } from '../../../base/index.ts';
import { groupMessages, type MessagePart, type SimRequest } from '../../request.ts';
import { objectsOf, contentText } from '../content.ts';

export function read(body: JsonObject): SimRequest {
  const messages = objectsOf(body['messages']);
  return {
    api: 'openai-chat',
    model: stringOf(body['model']),
    stream: body['stream'] === true,
    system: messages
      .filter(isSystem)
      .map((message) => contentText(message['content']))
      .join('\n'),
    messages: groupMessages(messages.filter((message) => !isSystem(message)).flatMap(messageParts)),
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

function messageParts(message: JsonObject): readonly MessagePart[] {
  const text = contentText(message['content']);
  if (message['role'] === 'tool') {
    const id = stringOf(message['tool_call_id']);
    return [{ role: 'tool', result: { id, name: '', text, isError: false } }];
  }
  if (message['role'] !== 'assistant') return [{ role: 'user', text }];
  const calls = objectsOf(message['tool_calls']).map(
    (call): MessagePart => ({ role: 'assistant', call: parseCall(call) }),
  );
  return text === '' && calls.length > 0 ? calls : [{ role: 'assistant', text }, ...calls];
}

function parseCall(call: JsonObject) {
  const declared = objectOf(call['function']);
  return {
    id: stringOf(call['id']),
    name: stringOf(declared['name']),
    arguments: tryParse(stringOf(declared['arguments'])),
  };
}
