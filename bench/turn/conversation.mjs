import { connect, providers, textContent } from '../../dist/index.js';
import { Worker } from '../../dist/worker/index.js';
import { textFrames } from '../decode/answers.mjs';

const anthropic = providers.find(({ name }) => name === 'anthropic');
const account = { name: 'bench', api: 'anthropic', baseUrl: 'http://in.memory', apiKey: 'none' };
const model = { account: 'bench', id: 'bench', name: 'bench', reasoning: false, input: ['text'] };
const never = new AbortController().signal;

const tool = {
  name: 'noop',
  description: 'Does nothing.',
  parameters: { type: 'object', properties: {} },
  parallel: true,
  prepare: () => ({
    access: [],
    title: 'noop',
    run: async () => ({ summary: 'ok', content: textContent('ok'), isError: false }),
  }),
};

/** Two ways to have the same conversation: manual requests, and a Worker. */
export const WAYS = {
  direct: async (llm, turns) => {
    const items = [user('Go')];
    for (let turn = 0; turn <= turns; turn++) {
      let id = '';
      for await (const batch of llm.batches({ model: 'bench', items, tools: [tool] }, never)) {
        for (const event of batch)
          if (event.type === 'block-stop' && event.blockType === 'tool-use') id = event.id;
      }
      if (id === '') return;
      items.push({ type: 'tool-call', callId: id, name: 'noop', arguments: `{"turn":${turn}}` });
      items.push({ type: 'tool-result', callId: id, content: textContent('ok'), isError: false });
    }
  },
  worker: async (llm) => {
    const worker = new Worker({
      settings: () => ({ llm, model, system: '', tools: [tool] }),
      cwd: '/',
      approve: async () => ({ decision: 'allow', resolve: async (path) => path }),
      toolContext: () => ({ env: {}, scratch: '/', sandbox: undefined }),
      emit: () => {},
    });
    const outcome = await worker.run(textContent('Go'), never);
    if (outcome.status !== 'finished') throw new Error(`the run ended ${outcome.status}`);
  },
};

/** A model in memory that calls the tool `turns` times and then streams `deltas` pieces of text. */
export function modelInMemory(turns, deltas) {
  const text = pieces(textFrames('anthropic', deltas).join(''));
  const transport = async ({ body }, watch) => {
    watch.onOpen();
    const answered = body.split('"tool_result"').length - 1;
    const chunks = answered < turns ? pieces(callFrames(answered)) : text;
    return { status: 200, headers: { 'content-type': 'text/event-stream' }, body: inOrder(chunks) };
  };
  return connect(anthropic, account, { transport });
}

async function* inOrder(chunks) {
  yield* chunks;
}

function callFrames(turn) {
  const frames = [
    {
      type: 'message_start',
      message: { id: `m${turn}`, model: 'bench', content: [], usage: { input_tokens: 9, output_tokens: 1 } },
    },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: `t${turn}`, name: 'noop', input: {} },
    },
    {
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json: `{"turn":${turn}}` },
    },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ];
  return frames.map((frame) => `event: ${frame.type}\ndata: ${JSON.stringify(frame)}\n\n`).join('');
}

function pieces(text) {
  const bytes = Buffer.from(text);
  return Array.from({ length: Math.ceil(bytes.length / 16_384) }, (_, at) =>
    bytes.subarray(at * 16_384, (at + 1) * 16_384),
  );
}

function user(text) {
  return { type: 'message', role: 'user', content: textContent(text) };
}
