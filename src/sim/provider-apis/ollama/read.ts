import { type JsonObject, objectOf, stringOf } from '../../../base/index.ts';
import { groupMessages, type MessagePart, type SimRequest } from '../../request.ts';
import { objectsOf } from '../content.ts';

export function read(body: JsonObject): SimRequest {
  const messages = objectsOf(body['messages']);
  return {
    api: 'ollama',
    model: stringOf(body['model']),
    // Unlike the other APIs, Ollama streams by default.
    stream: body['stream'] !== false,
    system: messages
      .filter((message) => message['role'] === 'system')
      .map((message) => stringOf(message['content']))
      .join('\n'),
    messages: groupMessages(messages.filter((message) => message['role'] !== 'system').flatMap(messageParts)),
    tools: objectsOf(body['tools']).map((tool) => {
      const declared = objectOf(tool['function']);
      return { name: stringOf(declared['name']), parameters: objectOf(declared['parameters']) };
    }),
    body,
  };
}

function messageParts(message: JsonObject): readonly MessagePart[] {
  const text = stringOf(message['content']);
  if (message['role'] === 'tool') return [{ role: 'tool', result: parseResult(message, text) }];
  if (message['role'] !== 'assistant') return [{ role: 'user', text }];
  const calls = objectsOf(message['tool_calls']).map(
    (call): MessagePart => ({ role: 'assistant', call: parseCall(call) }),
  );
  return text === '' && calls.length > 0 ? calls : [{ role: 'assistant', text }, ...calls];
}

function parseResult(message: JsonObject, text: string) {
  const id = stringOf(message['tool_call_id']);
  return { id, name: stringOf(message['tool_name'] ?? message['name']), text, isError: false };
}

function parseCall(call: JsonObject) {
  const declared = objectOf(call['function']);
  return {
    id: stringOf(call['id']),
    name: stringOf(declared['name']),
    arguments: objectOf(declared['arguments']),
  };
}
