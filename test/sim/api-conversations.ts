import { arrayOf, type JsonObject, objectOf, stringOf, tryParse } from '../../src/base/index.ts';
import type { ProviderApiName } from '../../src/sim/index.ts';

/** How a client of each provider API holds a conversation with tools, without streaming. */
export interface ApiConversation {
  readonly path: string;
  /** Returns the request body for the conversation so far; `history` is in the API's own format. */
  body(history: readonly unknown[], tools: readonly Tool[]): JsonObject;
  user(text: string): readonly unknown[];
  /** Returns the assistant's message in the form in which it is sent back. */
  echo(answer: JsonObject): readonly unknown[];
  result(call: Call, text: string, isError: boolean): readonly unknown[];
  text(answer: JsonObject): string;
  calls(answer: JsonObject): readonly Call[];
}

export interface Tool {
  readonly name: string;
  readonly argument: string;
}

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments: unknown;
}

const schema = ({ argument }: Tool) => ({ type: 'object', properties: { [argument]: { type: 'string' } } });
const functions = (tools: readonly Tool[]) =>
  tools.map((tool) => ({ type: 'function', function: { name: tool.name, parameters: schema(tool) } }));
const objects = (value: unknown) => arrayOf(value).map(objectOf);
const blocks = (list: unknown, type: string) => objects(list).filter((block) => block['type'] === type);
const makeCall = (id: unknown, name: unknown, args: unknown): Call => ({
  id: stringOf(id),
  name: stringOf(name),
  arguments: args,
});
const choice = (answer: JsonObject) => objectOf(objects(answer['choices'])[0]?.['message']);
const parts = (answer: JsonObject) =>
  objects(objectOf(objects(answer['candidates'])[0]?.['content'])['parts']);
const converseBlocks = (answer: JsonObject) =>
  objects(objectOf(objectOf(answer['output'])['message'])['content']);

export const CONVERSATIONS: Record<ProviderApiName, ApiConversation> = {
  anthropic: {
    path: '/v1/messages',
    body: (messages, tools) => ({
      model: 'm',
      max_tokens: 99,
      messages,
      tools: tools.map((tool) => ({ name: tool.name, input_schema: schema(tool) })),
    }),
    user: (content) => [{ role: 'user', content }],
    echo: (answer) => [{ role: 'assistant', content: answer['content'] }],
    result: (call, content, isError) => [
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content, is_error: isError }] },
    ],
    text: (answer) => stringOf(blocks(answer['content'], 'text')[0]?.['text']),
    calls: (answer) =>
      blocks(answer['content'], 'tool_use').map((block) =>
        makeCall(block['id'], block['name'], block['input']),
      ),
  },
  'openai-chat': {
    path: '/v1/chat/completions',
    body: (messages, tools) => ({ model: 'm', messages, tools: functions(tools) }),
    user: (content) => [{ role: 'user', content: [{ type: 'text', text: content }] }],
    echo: (answer) => [choice(answer)],
    result: (call, content) => [{ role: 'tool', tool_call_id: call.id, content }],
    text: (answer) => stringOf(choice(answer)['content']),
    calls: (answer) =>
      objects(choice(answer)['tool_calls']).map((call) => {
        const { name, arguments: args } = objectOf(call['function']);
        return makeCall(call['id'], name, tryParse(stringOf(args)));
      }),
  },
  'openai-responses': {
    path: '/v1/responses',
    body: (input, tools) => ({
      model: 'm',
      input,
      tools: tools.map((tool) => ({ type: 'function', name: tool.name, parameters: schema(tool) })),
    }),
    user: (text) => [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }],
    echo: (answer) => arrayOf(answer['output']),
    result: (call, output) => [{ type: 'function_call_output', call_id: call.id, output }],
    text: (answer) => stringOf(objects(blocks(answer['output'], 'message')[0]?.['content'])[0]?.['text']),
    calls: (answer) =>
      blocks(answer['output'], 'function_call').map((item) =>
        makeCall(item['call_id'], item['name'], tryParse(stringOf(item['arguments']))),
      ),
  },
  gemini: {
    path: '/v1beta/models/m:generateContent',
    body: (contents, tools) => ({
      contents,
      tools: [
        {
          functionDeclarations: tools.map((tool) => ({
            name: tool.name,
            parametersJsonSchema: schema(tool),
          })),
        },
      ],
    }),
    user: (text) => [{ role: 'user', parts: [{ text }] }],
    echo: (answer) => [objectOf(objects(answer['candidates'])[0]?.['content'])],
    result: ({ name }, text, isError) => [
      {
        role: 'user',
        parts: [{ functionResponse: { name, response: isError ? { error: text } : { output: text } } }],
      },
    ],
    text: (answer) => stringOf(parts(answer).find((part) => part['thought'] !== true)?.['text']),
    calls: (answer) =>
      parts(answer)
        .filter((part) => part['functionCall'] !== undefined)
        .map((part) => objectOf(part['functionCall']))
        .map((call) => makeCall(call['id'], call['name'], call['args'])),
  },
  ollama: {
    path: '/api/chat',
    body: (messages, tools) => ({ model: 'm', stream: false, messages, tools: functions(tools) }),
    user: (content) => [{ role: 'user', content }],
    echo: (answer) => [answer['message']],
    result: ({ name }, content) => [{ role: 'tool', tool_name: name, content }],
    text: (answer) => stringOf(objectOf(answer['message'])['content']),
    calls: (answer) =>
      objects(objectOf(answer['message'])['tool_calls']).map((call) => {
        const { name, arguments: args } = objectOf(call['function']);
        return makeCall(call['id'], name, args);
      }),
  },
  bedrock: {
    path: '/model/m/converse',
    body: (messages, tools) => ({
      messages,
      toolConfig: {
        tools: tools.map((tool) => ({
          toolSpec: { name: tool.name, inputSchema: { json: schema(tool) } },
        })),
      },
    }),
    user: (text) => [{ role: 'user', content: [{ text }] }],
    echo: (answer) => [objectOf(objectOf(answer['output'])['message'])],
    result: ({ id }, text, isError) => [
      {
        role: 'user',
        content: [
          {
            toolResult: {
              toolUseId: id,
              content: [{ text }],
              ...(isError ? { status: 'error' } : {}),
            },
          },
        ],
      },
    ],
    text: (answer) => stringOf(converseBlocks(answer).find((block) => 'text' in block)?.['text']),
    calls: (answer) =>
      converseBlocks(answer)
        .filter((block) => 'toolUse' in block)
        .map((block) => objectOf(block['toolUse']))
        .map((call) => makeCall(call['toolUseId'], call['name'], call['input'])),
  },
};
