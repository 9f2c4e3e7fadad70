import { type JsonObject, objectOf, stringOf } from '../../../base/index.ts';
import { gather, type GatheredText, type SimRequest } from '../../request.ts';
import { objectsOf, textOf } from '../content.ts';

export function read(body: JsonObject): SimRequest {
  return {
    wire: 'anthropic',
    model: stringOf(body['model']),
    stream: body['stream'] === true,
    system: textOf(body['system']),
    messages: gather(objectsOf(body['messages']).flatMap(said)),
    tools: objectsOf(body['tools']).map((tool) => ({
      name: stringOf(tool['name']),
      parameters: objectOf(tool['input_schema']),
    })),
    body,
  };
}

function said(message: JsonObject): readonly GatheredText[] {
  const role = message['role'] === 'assistant' ? 'assistant' : 'user';
  if (typeof message['content'] === 'string') return [{ role, text: message['content'] }];
  return objectsOf(message['content']).flatMap((block): readonly GatheredText[] => {
    if (block['type'] === 'text') return [{ role, text: stringOf(block['text']) }];
    if (block['type'] === 'tool_use') return [{ role: 'assistant', call: callOf(block) }];
    if (block['type'] === 'tool_result') return [{ role: 'tool', result: resultOf(block) }];
    return [];
  });
}

function callOf(block: JsonObject) {
  return { id: stringOf(block['id']), name: stringOf(block['name']), arguments: block['input'] };
}

function resultOf(block: JsonObject) {
  const isError = block['is_error'] === true;
  return { id: stringOf(block['tool_use_id']), name: '', text: textOf(block['content']), isError };
}
