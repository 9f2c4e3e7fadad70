// What is measured: bytes to normalised events to a Timeline with both collectors, through the same `connect` that
// talks to the network, with a transport that has the bytes in memory.
import { connect } from '../../dist/llm/index.js';
import { providers } from '../../dist/registry.js';
import { TextBlockCollector, Timeline, ToolCallCollector } from '../../dist/timeline/index.js';
import { MODEL } from './answers.mjs';

const REQUEST = {
  model: MODEL,
  items: [{ type: 'message', role: 'user', content: [{ type: 'text', text: 'go' }] }],
  maxTokens: 1000,
};

export function open(wire) {
  const provider = providers.find(({ name }) => name === wire);
  const account = { name: wire, wire, baseUrl: 'http://bench.invalid', apiKey: 'bench' };
  return async (answer) => {
    const llm = connect(provider, account, { transport: fromMemory(answer) });
    const timeline = new Timeline();
    const texts = new TextBlockCollector().attach(timeline);
    const calls = new ToolCallCollector().attach(timeline);
    const { signal } = new AbortController();
    for await (const batch of llm.batches(REQUEST, signal)) timeline.dispatchAll(batch);
    return charactersIn(texts.takeCollected(), calls.takeCollected());
  };
}

/** One delta in must be one delta out, and nothing of it may change: counting characters alone would not show that. */
export async function check(wire, answer) {
  const provider = providers.find(({ name }) => name === wire);
  const account = { name: wire, wire, baseUrl: 'http://bench.invalid' };
  const llm = connect(provider, account, { transport: fromMemory(answer) });
  const deltas = [];
  for await (const { type, delta } of llm.stream(REQUEST, new AbortController().signal)) {
    if (type === 'block-delta') deltas.push(delta.type === 'input-json' ? delta.json : delta.text);
  }
  if (deltas.length !== answer.count) throw new Error(`${deltas.length} deltas came out of ${answer.count}`);
  if (deltas.join('') !== answer.content) throw new Error('what came out is not what went in');
}

function charactersIn(texts, calls) {
  const invalid = calls.find((call) => call.invalid !== undefined);
  if (invalid) throw new Error(invalid.invalid);
  const contents = [...texts, ...calls.map((call) => call.arguments)];
  return contents.reduce((sum, { length }) => sum + length, 0);
}

function fromMemory({ contentType, pieces }) {
  return async (_request, watch) => {
    watch.onOpen();
    return { status: 200, headers: { 'content-type': contentType }, body: bodyOf(pieces) };
  };
}

async function* bodyOf(pieces) {
  yield* pieces;
}
