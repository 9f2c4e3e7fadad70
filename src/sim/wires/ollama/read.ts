import { type JsonObject, objectOf, stringOf } from '../../../base/index.ts';
import { gather, type GatheredText, type SimRequest } from '../../request.ts';
import { objectsOf } from '../content.ts';

export function read(body: JsonObject): SimRequest {
  const messages = objectsOf(body['messages']);
  return {
    wire: 'ollama',
    model: stringOf(body['model']),
    // Unlike everywhere else, streaming is what you get unless you say no.
    stream: body['stream'] !== false,
    system: messages
      .filter((message) => message['role'] === 'system')
      .map((message) => stringOf(message['content']))
      .join('\n'),
    messages: gather(messages.filter((message) => message['role'] !== 'system').flatMap(said)),
    tools: objectsOf(body['tools']).map((tool) => {
      const declared = objectOf(tool['function']);
      return { name: stringOf(declared['name']), parameters: objectOf(declared['parameters']) };
    }),
    body,
  };
}

function said(message: JsonObject): readonly GatheredText[] {
  const text = stringOf(message['content']);
  if (message['role'] === 'tool') return [{ role: 'tool', result: resultOf(message, text) }];
  if (message['role'] !== 'assistant') return [{ role: 'user', text }];
  const calls = objectsOf(message['tool_calls']).map(
    (call): GatheredText => ({ role: 'assistant', call: callOf(call) }),
  );
  return text === '' && calls.length > 0 ? calls : [{ role: 'assistant', text }, ...calls];
}

function resultOf(message: JsonObject, text: string) {
  const id = stringOf(message['tool_call_id']);
  return { id, name: stringOf(message['tool_name'] ?? message['name']), text, isError: false };
}

function callOf(call: JsonObject) {
  const declared = objectOf(call['function']);
  return {
    id: stringOf(call['id']),
    name: stringOf(declared['name']),
    arguments: objectOf(declared['arguments']),
  };
}
