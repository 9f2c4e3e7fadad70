import { isObject, type JsonObject, objectOf, stringOf } from '../../../base/index.ts';
import { groupMessages, type MessagePart, type SimRequest } from '../../request.ts';
import { objectsOf, contentText } from '../content.ts';

/** Gemini encodes model and method in the path: `…/models/<model>:streamGenerateContent`. */
export function read(body: JsonObject, url: URL): SimRequest {
  const [, model = '', method = ''] = METHOD_PATH.exec(url.pathname) ?? [];
  return {
    api: 'gemini',
    model: decodeURIComponent(model),
    stream: method === 'streamGenerateContent',
    system: contentText(objectOf(body['systemInstruction'] ?? body['system_instruction'])['parts']),
    messages: groupMessages(objectsOf(body['contents']).flatMap(messageParts)),
    tools: objectsOf(body['tools'])
      .flatMap((tool) => objectsOf(tool['functionDeclarations']))
      .map((declared) => ({
        name: stringOf(declared['name']),
        parameters: objectOf(declared['parametersJsonSchema'] ?? declared['parameters']),
      })),
    body,
  };
}

export const METHOD_PATH = /\/models\/([^/:]+):(streamGenerateContent|generateContent)$/;

function messageParts(content: JsonObject): readonly MessagePart[] {
  const role = content['role'] === 'model' ? 'assistant' : 'user';
  return objectsOf(content['parts']).flatMap((part): readonly MessagePart[] => {
    if (isObject(part['functionCall'])) return [{ role: 'assistant', call: parseCall(part['functionCall']) }];
    if (isObject(part['functionResponse']))
      return [{ role: 'tool', result: parseResult(part['functionResponse']) }];
    if (part['thought'] === true || stringOf(part['text']) === '') return [];
    return [{ role, text: stringOf(part['text']) }];
  });
}

function parseCall(call: JsonObject) {
  return { id: stringOf(call['id']), name: stringOf(call['name']), arguments: call['args'] ?? {} };
}

/**
 * By convention a result is under `output` or `result`, an error under `error`; otherwise the whole object is
 * the result.
 */
function parseResult(result: JsonObject) {
  const response = objectOf(result['response']);
  const isError = response['error'] !== undefined;
  const value = response['error'] ?? response['output'] ?? response['result'] ?? response;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { id: stringOf(result['id']), name: stringOf(result['name']), text, isError };
}
