import { describe, expect, it } from 'vitest';
import { answerDecoder, type LlmEvent, type Provider } from '../../src/llm/index.ts';
import { anthropic } from '../../src/llm/anthropic/index.ts';
import { gemini } from '../../src/llm/gemini/index.ts';
import { openaiChat } from '../../src/llm/openai-chat/index.ts';
import { handler, TextBlockCollector, Timeline, ToolCallCollector } from '../../src/timeline/index.ts';

/** Defects A to F of the original implementation, each reproduced with the provider's own frames. */
describe('defects of the original implementation', () => {
  it('defect A: text of an API without block starts reaches handlers as start, deltas and stop', () => {
    const received: string[] = [];
    const { timeline, text } = collectors();
    timeline.onTextBlock(handler('text-block', (event) => received.push(event.type)));
    timeline.dispatchAll(
      decode(openaiChat, [chat({ content: 'Hel' }), chat({ content: 'lo' }), finished('stop')]),
    );
    expect(received).toEqual(['start', 'delta', 'delta', 'stop']);
    expect(text.takeCollected()).toEqual(['Hello']);
  });

  it('defect B: a call that the provider never ends is collected, and no block stays open', () => {
    const { timeline, calls } = collectors();
    timeline.dispatchAll(decode(openaiChat, [toolCall(0, 'a', '{"x":1}'), finished('tool_calls')]));
    expect(timeline.currentBlock).toBeUndefined();
    expect(calls.takeCollected()).toMatchObject([{ id: 'a', input: { x: 1 } }]);
  });

  it('defect C: the first of two calls in a row is not lost', () => {
    const { timeline, calls } = collectors();
    const frames = [toolCall(0, 'a', '{"x":1}'), toolCall(1, 'b', '{"x":2}'), finished('tool_calls')];
    timeline.dispatchAll(decode(openaiChat, frames));
    expect(calls.takeCollected()).toMatchObject([
      { id: 'a', input: { x: 1 } },
      { id: 'b', input: { x: 2 } },
    ]);
  });

  it('defect D: interleaved arguments are assigned to their own calls', () => {
    const { timeline, calls } = collectors();
    const frames = [
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: 'a', name: 'f', input: {} },
      },
      {
        type: 'content_block_start',
        index: 1,
        content_block: { type: 'tool_use', id: 'b', name: 'f', input: {} },
      },
      ...[0, 1].map((index) => json(index, '{"x":')),
      ...[0, 1].map((index) => json(index, `${index}}`)),
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
      { type: 'message_stop' },
    ];
    timeline.dispatchAll(decode(anthropic, frames));
    expect(calls.takeCollected()).toMatchObject([
      { id: 'a', input: { x: 0 } },
      { id: 'b', input: { x: 1 } },
    ]);
  });

  it('defect E: nothing of a cancelled turn leaks into the next', () => {
    const { timeline, text, calls } = collectors();
    const decoder = answerDecoder(openaiChat, 's');
    const first = [chat({ content: 'old' }), toolCall(0, 'old', '{}'), chat({ content: 'more' })];
    timeline.dispatchAll(first.flatMap((frame) => decoder.pushPayload(JSON.stringify(frame))));
    timeline.dispatchAll(decoder.cancel());
    timeline.dispatchAll(decode(openaiChat, [chat({ content: 'new' }), finished('stop')]));
    expect(text.takeCollected()).toEqual(['new']);
    expect(calls.takeCollected()).toEqual([]);
  });

  it('defect F: a Gemini call survives the end of the text', () => {
    const { timeline, text, calls } = collectors();
    const part = (...parts: object[]) => ({ candidates: [{ content: { parts } }] });
    const frames = [
      part({ text: 'Looking.' }),
      part({ functionCall: { name: 'ls', args: { path: '.' } } }, { functionCall: { name: 'ls', args: {} } }),
      { candidates: [{ content: { parts: [{ text: '' }] }, finishReason: 'STOP' }] },
    ];
    timeline.dispatchAll(decode(gemini, frames));
    expect(text.takeCollected()).toEqual(['Looking.']);
    const collected = calls.takeCollected();
    expect(collected).toMatchObject([
      { name: 'ls', input: { path: '.' } },
      { name: 'ls', input: {} },
    ]);
    expect(collected[0]?.id).not.toBe(collected[1]?.id);
  });
});

function collectors() {
  const timeline = new Timeline();
  const text = new TextBlockCollector();
  const calls = new ToolCallCollector();
  text.attach(timeline);
  calls.attach(timeline);
  return { timeline, text, calls };
}

function decode(provider: Provider, frames: readonly object[]): readonly LlmEvent[] {
  const decoder = answerDecoder(provider, 's');
  return [...frames.flatMap((frame) => decoder.pushPayload(JSON.stringify(frame))), ...decoder.end()];
}

const chat = (delta: object) => ({ choices: [{ index: 0, delta }] });
const finished = (reason: string) => ({ choices: [{ index: 0, delta: {}, finish_reason: reason }] });
const json = (index: number, text: string) => ({
  type: 'content_block_delta',
  index,
  delta: { type: 'input_json_delta', partial_json: text },
});

function toolCall(index: number, id: string, text: string) {
  return chat({ tool_calls: [{ index, id, function: { name: 'f', arguments: text } }] });
}
