import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { polypod, temporaryDirectory } from '../cli/polypod.ts';

const deep = (levels: number): string => `{"path":${'['.repeat(levels)}${']'.repeat(levels)}}`;
const sse = (...frames: readonly string[]): string => frames.map((frame) => `data: ${frame}\n\n`).join('');

interface Wire {
  readonly wire: string;
  readonly path: string;
  /** Returns the bytes of an answer that calls `read` with these arguments, as JSON text. */
  readonly calls: (args: string) => string;
  readonly textAnswer: (text: string) => string;
}

/** Each provider's own format, written by hand: the simulator cannot send what no provider should. */
const WIRES: readonly Wire[] = [
  {
    wire: 'gemini',
    path: '',
    calls: (args) =>
      sse(
        `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"read","args":${args}}}],"role":"model"},"finishReason":"STOP"}]}`,
      ),
    textAnswer: (text) =>
      sse(`{"candidates":[{"content":{"parts":[{"text":"${text}"}],"role":"model"},"finishReason":"STOP"}]}`),
  },
  {
    wire: 'ollama',
    path: '',
    calls: (args) =>
      `{"message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"read","arguments":${args}}}]},"done":false}\n{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}\n`,
    textAnswer: (text) =>
      `{"message":{"role":"assistant","content":"${text}"},"done":false}\n{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}\n`,
  },
  {
    wire: 'anthropic',
    path: '',
    calls: (args) =>
      sse(
        '{"type":"message_start","message":{"id":"m","role":"assistant","model":"x","usage":{"input_tokens":1}}}',
        '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"read","input":{}}}',
        `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":${JSON.stringify(args)}}}`,
        '{"type":"content_block_stop","index":0}',
        '{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":1}}',
        '{"type":"message_stop"}',
      ),
    textAnswer: (text) =>
      sse(
        '{"type":"message_start","message":{"id":"m","role":"assistant","model":"x","usage":{"input_tokens":1}}}',
        '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
        `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}`,
        '{"type":"content_block_stop","index":0}',
        '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}',
        '{"type":"message_stop"}',
      ),
  },
  {
    wire: 'openai-chat',
    path: '/v1',
    calls: (args) =>
      sse(
        `{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"read","arguments":${JSON.stringify(args)}}}]}}]}`,
        '{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}',
        '[DONE]',
      ),
    textAnswer: (text) =>
      sse(
        `{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":"${text}"}}]}`,
        '{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
        '[DONE]',
      ),
  },
];

/** A model that first calls a tool with these arguments, then answers; and the requests it received. */
async function run({ wire, path, calls, textAnswer }: Wire, args: string) {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (bytes: Buffer) => (body += bytes.toString()));
    request.on('end', () => {
      requests.push(body);
      response.setHeader('content-type', wire === 'ollama' ? 'application/x-ndjson' : 'text/event-stream');
      response.end(requests.length === 1 ? calls(args) : textAnswer('Done.'));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const home = temporaryDirectory();
  mkdirSync(join(home, '.config/polypod'), { recursive: true });
  writeFileSync(
    join(home, '.config/polypod/config.yaml'),
    `accounts:\n  hostile: { wire: ${wire}, base_url: "http://127.0.0.1:${port}${path}", key: k }\n`,
    { mode: 0o600 },
  );
  const ended = await polypod(['run', '-m', 'hostile/x', 'Go.'], { env: { HOME: home } });
  return { ...ended, requestBodies: requests };
}

test.each(WIRES)(
  'arguments nested 5,000 levels deep over the $wire wire fail validation, which the model reads',
  async (wire) => {
    const { code, stdout, stderr, requestBodies: requests } = await run(wire, deep(5_000));
    expect({ code, stdout, stderr }).toMatchObject({ code: 0, stdout: 'Done.\n' });
    expect(requests[1]).toContain('lists and objects may be nested at most 128 levels deep');
  },
);

const [gemini] = WIRES;
test.each([
  ['100,000 levels', deep(100_000)],
  ['a __proto__ key', '{"__proto__":{"path":"a"},"constructor":{"prototype":{"x":1}}}'],
  ['a number beyond all numbers', '{"path":1e999,"offset":-1e999}'],
  ['a lone surrogate and a zero in the path', '{"path":"a\\ud800\\u0000b"}'],
  ['100,000 unknown keys', `{${Array.from({ length: 100_000 }, (_, at) => `"k${at}":1`).join(',')}}`],
])('with %s in the arguments the call fails and the run continues', async (_, args) => {
  if (gemini === undefined) return;
  const { code, stdout, requestBodies: requests } = await run(gemini, args);
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'Done.\n' });
  expect((requests[1] ?? '').length).toBeLessThan(2_000_000);
});
