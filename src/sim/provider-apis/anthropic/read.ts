import { type JsonObject, objectOf, stringOf } from '../../../base/index.ts';
import { groupMessages, type MessagePart, type SimRequest } from '../../request.ts';
import { objectsOf, contentText } from '../content.ts';

/** Vertex AI encodes model and method in the path: `…/models/<model>:streamRawPredict`. */
export const VERTEX_PATH = /\/publishers\/anthropic\/models\/([^/:]+):(streamRawPredict|rawPredict)$/;

export function read(body: JsonObject, url: URL): SimRequest {
  const [, model, method] = VERTEX_PATH.exec(url.pathname) ?? [];
  return {
    api: 'anthropic',
    model: model === undefined ? stringOf(body['model']) : decodeURIComponent(model),
    stream: method === undefined ? body['stream'] === true : method === 'streamRawPredict',
    system: contentText(body['system']),
    messages: groupMessages(objectsOf(body['messages']).flatMap(messageParts)),
    tools: objectsOf(body['tools']).map((tool) => ({
      name: stringOf(tool['name']),
      parameters: objectOf(tool['input_schema']),
    })),
    body,
  };
}

function messageParts(message: JsonObject): readonly MessagePart[] {
  const role = message['role'] === 'assistant' ? 'assistant' : 'user';
  if (typeof message['content'] === 'string') return [{ role, text: message['content'] }];
  return objectsOf(message['content']).flatMap((block): readonly MessagePart[] => {
    if (block['type'] === 'text') return [{ role, text: stringOf(block['text']) }];
    if (block['type'] === 'tool_use') return [{ role: 'assistant', call: parseCall(block) }];
    if (block['type'] === 'tool_result') return [{ role: 'tool', result: parseResult(block) }];
    return [];
  });
}

function parseCall(block: JsonObject) {
  return { id: stringOf(block['id']), name: stringOf(block['name']), arguments: block['input'] };
}

function parseResult(block: JsonObject) {
  const isError = block['is_error'] === true;
  return { id: stringOf(block['tool_use_id']), name: '', text: contentText(block['content']), isError };
}
