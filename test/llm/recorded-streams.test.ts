import { describe, expect, it } from 'vitest';
import { arrayOf, type JsonObject, objectOf, stringOf, tryParse } from '../../src/base/index.ts';
import { callsIn, exchangesOf, expectBalanced, joined } from './balance.ts';
import { decodeAll, payloadsOf, RECORDED, type Recording, recordingsIn } from './recordings.ts';

/** The content of a stream, read in the simplest way: every payload separately, fields concatenated. */
const NAIVE: Readonly<Record<string, Naive>> = {
  anthropic: {
    text: ({ delta, content_block }) =>
      objectOf(delta).type === 'text_delta'
        ? stringOf(objectOf(delta).text)
        : textOfBlock(objectOf(content_block)),
    thinking: ({ delta }) => stringOf(objectOf(delta).thinking),
    calls: anthropicCalls,
  },
  'openai-chat': {
    text: (frame) => stringOf(chatDelta(frame).content),
    thinking: (frame) => stringOf(chatDelta(frame).reasoning_content) || stringOf(chatDelta(frame).reasoning),
    calls: chatCalls,
  },
  'openai-responses': {
    text: ({ type, delta }) => (type === 'response.output_text.delta' ? stringOf(delta) : ''),
    thinking: ({ type, delta }) => (type === 'response.reasoning_summary_text.delta' ? stringOf(delta) : ''),
    calls: (frames) =>
      frames
        .filter(
          ({ type, item }) => type === 'response.output_item.done' && objectOf(item).type === 'function_call',
        )
        .map(({ item }) => ({
          name: stringOf(objectOf(item).name),
          arguments: stringOf(objectOf(item).arguments),
        })),
  },
  gemini: {
    text: (frame) =>
      geminiParts(frame)
        .map((part) => (part.thought ? '' : stringOf(part.text)))
        .join(''),
    thinking: (frame) =>
      geminiParts(frame)
        .map((part) => (part.thought ? stringOf(part.text) : ''))
        .join(''),
    // Arguments streamed by path have a separate test.
    calls: undefined,
  },
};

interface Naive {
  readonly text: (frame: JsonObject) => string;
  readonly thinking: (frame: JsonObject) => string;
  readonly calls:
    | ((frames: readonly JsonObject[]) => readonly { name: string; arguments: string }[])
    | undefined;
}

const recordings = recordingsIn(RECORDED);

describe.skipIf(recordings.length === 0)('recorded provider streams', () => {
  it('cover all files of the folder', () => {
    expect(recordings.length).toBeGreaterThan(40);
  });

  describe.each(recordings)('$file', (recording: Recording) => {
    const { provider, bytes } = recording;
    const events = decodeAll(provider, [bytes]);
    const frames = payloadsOf(recording).map((payload) => objectOf(tryParse(payload)));
    const naive = NAIVE[provider.name];

    it('has balanced events in every exchange', () => {
      for (const exchange of exchangesOf(events)) expectBalanced(exchange);
    });

    it('neither loses nor adds text, thinking or arguments', () => {
      expect(joined(events, 'text')).toBe(frames.map((frame) => naive?.text(frame)).join(''));
      expect(joined(events, 'thinking')).toBe(frames.map((frame) => naive?.thinking(frame)).join(''));
      if (naive?.calls) expect(exchangesOf(events).flatMap(callsIn)).toEqual(naive.calls(frames));
    });

    it('ends with the status that the provider sent', () => {
      const last = events.at(-1);
      const failed = frames.some(({ type }) => type === 'error');
      expect(last).toMatchObject({ type: 'status', status: failed ? 'failed' : 'completed' });
    });
  });

  it('assembles arguments that Gemini streams by path', () => {
    const nested = recordings.find(({ file }) => file.includes('arguments-nested'));
    const calls = nested ? callsIn(decodeAll(nested.provider, [nested.bytes])) : [];
    const recipe = objectOf(objectOf(tryParse(calls[0]?.arguments ?? '')).recipe);
    expect(arrayOf(recipe.ingredients)[0]).toEqual({ amount: '16 oz', name: 'Lasagna noodles' });
    expect(recipe.name).toBeTypeOf('string');
    expect(arrayOf(recipe.steps).every((step) => typeof step === 'string' && step !== '')).toBe(true);
  });
});

function textOfBlock(block: JsonObject): string {
  return block.type === 'text' ? stringOf(block.text) : '';
}

function anthropicCalls(frames: readonly JsonObject[]) {
  const calls: { name: string; arguments: string }[] = [];
  let open: { name: string; arguments: string; completeInput: unknown; index: unknown } | undefined;
  for (const frame of frames) {
    for (const block of arrayOf(objectOf(frame.message).content).map(objectOf)) {
      if (block.type === 'tool_use')
        calls.push({ name: stringOf(block.name), arguments: JSON.stringify(block.input) });
    }
    const block = objectOf(frame.content_block);
    if (block.type === 'tool_use') {
      open = { name: stringOf(block.name), arguments: '', completeInput: block.input, index: frame.index };
      calls.push(open);
    }
    if (open && frame.index === open.index && frame.type === 'content_block_delta') {
      open.arguments += stringOf(objectOf(frame.delta).partial_json);
    }
    if (open && frame.index === open.index && frame.type === 'content_block_stop') {
      if (open.arguments === '' && Object.keys(objectOf(open.completeInput)).length > 0) {
        open.arguments = JSON.stringify(open.completeInput);
      }
      open = undefined;
    }
  }
  return calls.map(({ name, arguments: text }) => ({ name, arguments: text }));
}

function chatDelta(frame: JsonObject): JsonObject {
  return objectOf(objectOf(arrayOf(frame.choices)[0]).delta);
}

function chatCalls(frames: readonly JsonObject[]) {
  const calls = new Map<unknown, { name: string; arguments: string }>();
  for (const part of frames.flatMap((frame) => arrayOf(chatDelta(frame).tool_calls)).map(objectOf)) {
    const functionPart = objectOf(part.function);
    const call = calls.get(part.index) ?? { name: stringOf(functionPart.name), arguments: '' };
    calls.set(part.index, { ...call, arguments: call.arguments + stringOf(functionPart.arguments) });
  }
  return [...calls.values()];
}

function geminiParts(frame: JsonObject): readonly JsonObject[] {
  return arrayOf(objectOf(objectOf(arrayOf(frame.candidates)[0]).content).parts).map(objectOf);
}
