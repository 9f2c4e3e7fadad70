// The measured path: bytes to normalised events to a Timeline with both collectors, through the same `connect` that is used with
// the network.
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
  return (answer) => read(connectTo(wire, fromMemory(answer)));
}

/** Checks that every delta is emitted once and unchanged, which counting characters alone would not show. */
export async function check(wire, answer) {
  const deltas = [];
  for await (const event of connectTo(wire, fromMemory(answer)).stream(
    REQUEST,
    new AbortController().signal,
  )) {
    if (event.type === 'block-delta') deltas.push(contentOf(event.delta));
  }
  if (deltas.length !== answer.count) throw new Error(`${deltas.length} deltas came out of ${answer.count}`);
  if (deltas.join('') !== answer.content) throw new Error('what came out is not what went in');
}

export function connectTo(wire, transport, baseUrl = 'http://bench.invalid') {
  const provider = providers.find(({ name }) => name === wire);
  return connect(provider, { name: wire, api: wire, baseUrl, apiKey: 'bench' }, { transport });
}

/** Reads one answer to its end; returns the number of characters in the collectors. */
export async function read(llm, onFirstDelta = () => {}) {
  const timeline = new Timeline();
  const texts = new TextBlockCollector().attach(timeline);
  const calls = new ToolCallCollector().attach(timeline);
  let waiting = true;
  for await (const batch of llm.batches(REQUEST, new AbortController().signal)) {
    timeline.dispatchAll(batch);
    if (waiting && batch.some(({ type }) => type === 'block-delta')) {
      waiting = false;
      onFirstDelta();
    }
  }
  return charactersIn(texts.takeCollected(), calls.takeCollected());
}

function charactersIn(texts, calls) {
  const invalid = calls.find((call) => call.invalid !== undefined);
  if (invalid) throw new Error(invalid.invalid);
  const contents = [...texts, ...calls.map((call) => call.arguments)];
  return contents.reduce((sum, { length }) => sum + length, 0);
}

function contentOf(delta) {
  return delta.type === 'input-json' ? delta.json : delta.text;
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
