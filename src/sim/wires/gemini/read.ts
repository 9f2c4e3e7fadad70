import { isObject, type JsonObject, objectOf, stringOf } from '../../../base/index.ts';
import { gather, type GatheredText, type SimRequest } from '../../request.ts';
import { objectsOf, textOf } from '../content.ts';

/** Gemini says model and method in the path: `…/models/<model>:streamGenerateContent`. */
export function read(body: JsonObject, url: URL): SimRequest {
  const [, model = '', method = ''] = METHOD.exec(url.pathname) ?? [];
  return {
    wire: 'gemini',
    model: decodeURIComponent(model),
    stream: method === 'streamGenerateContent',
    system: textOf(objectOf(body['systemInstruction'] ?? body['system_instruction'])['parts']),
    messages: gather(objectsOf(body['contents']).flatMap(said)),
    tools: objectsOf(body['tools'])
      .flatMap((tool) => objectsOf(tool['functionDeclarations']))
      .map((declared) => ({
        name: stringOf(declared['name']),
        parameters: objectOf(declared['parametersJsonSchema'] ?? declared['parameters']),
      })),
    body,
  };
}

export const METHOD = /\/models\/([^/:]+):(streamGenerateContent|generateContent)$/;

function said(content: JsonObject): readonly GatheredText[] {
  const role = content['role'] === 'model' ? 'assistant' : 'user';
  return objectsOf(content['parts']).flatMap((part): readonly GatheredText[] => {
    if (isObject(part['functionCall'])) return [{ role: 'assistant', call: callOf(part['functionCall']) }];
    if (isObject(part['functionResponse']))
      return [{ role: 'tool', result: resultOf(part['functionResponse']) }];
    if (part['thought'] === true || stringOf(part['text']) === '') return [];
    return [{ role, text: stringOf(part['text']) }];
  });
}

function callOf(call: JsonObject) {
  return { id: stringOf(call['id']), name: stringOf(call['name']), arguments: call['args'] ?? {} };
}

/** By convention a result stands under `output` or `result`, a failure under `error`; anything else is the result itself. */
function resultOf(result: JsonObject) {
  const response = objectOf(result['response']);
  const isError = response['error'] !== undefined;
  const value = response['error'] ?? response['output'] ?? response['result'] ?? response;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return { id: stringOf(result['id']), name: stringOf(result['name']), text, isError };
}
