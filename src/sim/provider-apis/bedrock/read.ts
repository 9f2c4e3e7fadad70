import { isObject, type JsonObject, objectOf, stringOf } from '../../../base/index.ts';
import { groupMessages, type MessagePart, type SimRequest } from '../../request.ts';
import { contentText, objectsOf } from '../content.ts';

/** The path contains model and method: `/model/<model>/converse-stream`. */
export function read(body: JsonObject, url: URL): SimRequest {
  const [, model = '', method = ''] = CONVERSE_PATH.exec(url.pathname) ?? [];
  return {
    api: 'bedrock',
    model: decodeURIComponent(model),
    stream: method === 'converse-stream',
    system: contentText(body['system']),
    messages: groupMessages(objectsOf(body['messages']).flatMap(messageParts)),
    tools: objectsOf(objectOf(body['toolConfig'])['tools'])
      .map((tool) => objectOf(tool['toolSpec']))
      .filter((tool) => tool['name'] !== undefined)
      .map((tool) => ({
        name: stringOf(tool['name']),
        parameters: objectOf(objectOf(tool['inputSchema'])['json']),
      })),
    body,
  };
}

export const CONVERSE_PATH = /\/model\/([^/]+)\/(converse-stream|converse)$/;

function messageParts(message: JsonObject): readonly MessagePart[] {
  const role = message['role'] === 'assistant' ? 'assistant' : 'user';
  return objectsOf(message['content']).flatMap((block): readonly MessagePart[] => {
    const { toolUse, toolResult, text } = block;
    if (typeof text === 'string') return [{ role, text }];
    if (isObject(toolUse)) return [{ role: 'assistant', call: parseCall(toolUse) }];
    if (isObject(toolResult)) return [{ role: 'tool', result: parseResult(toolResult) }];
    return [];
  });
}

function parseCall(call: JsonObject) {
  return { id: stringOf(call['toolUseId']), name: stringOf(call['name']), arguments: call['input'] };
}

function parseResult(result: JsonObject) {
  const isError = result['status'] === 'error';
  return {
    id: stringOf(result['toolUseId']),
    name: '',
    text: contentText(result['content']),
    isError,
  };
}
