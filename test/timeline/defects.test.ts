import { expect, test } from 'vitest';
import { TextBlockCollector, Timeline, ToolCallCollector } from '../../src/timeline/index.ts';
import {
  abort,
  call,
  cancelled,
  completed,
  failed,
  json,
  listenToAll,
  start,
  started,
  stop,
  TEXT,
  text,
} from './events.ts';

// Defects of the original implementation, each reproduced with the events that caused it.

function attached() {
  const timeline = new Timeline();
  const texts = new TextBlockCollector().attach(timeline);
  const calls = new ToolCallCollector().attach(timeline);
  return { timeline, texts, calls, emitted: listenToAll(timeline) };
}

const READ = call('c1', 'read');
const WRITE = call('c2', 'write');
const READ_CALL = { id: 'c1', name: 'read', arguments: '{"path":"a"}', input: { path: 'a' } };
const WRITE_CALL = { id: 'c2', name: 'write', arguments: '{"path":"b"}', input: { path: 'b' } };

test('defect A: text without a start reaches every handler with start, deltas and stop', () => {
  const { timeline, texts, emitted } = attached();

  timeline.dispatchAll([text(0, 'Hel'), text(0, 'lo'), stop(0, TEXT)]);

  expect(emitted).toStrictEqual([
    ['text-block', { type: 'start', index: 0, source: 'model' }],
    ['text-block', { type: 'delta', index: 0, source: 'model', text: 'Hel' }],
    ['text-block', { type: 'delta', index: 0, source: 'model', text: 'lo' }],
    ['text-block', { type: 'stop', index: 0, source: 'model' }],
  ]);
  expect(texts.takeCollected()).toStrictEqual(['Hello']);
});

test('defect B: a call that never stops is aborted at the end and leaves the next stream clean', () => {
  const { timeline, calls, emitted } = attached();

  timeline.dispatchAll([started, start(0, READ), json(0, '{"path":"old"}'), completed]);
  timeline.abortCurrentBlock('the stream ended');

  expect(emitted.at(-1)).toStrictEqual([
    'tool-use-block',
    { type: 'abort', index: 0, id: 'c1', name: 'read', reason: 'the stream ended' },
  ]);
  expect(timeline.currentBlock).toBeUndefined();
  expect(calls.hasPendingCalls()).toBe(false);

  timeline.dispatchAll([started, start(0, WRITE), json(0, '{"path":"b"}'), stop(0, WRITE), completed]);
  expect(calls.takeCollected()).toStrictEqual([WRITE_CALL]);
});

test('defect B: a call that never stops does not affect the next stream, even without an abort', () => {
  const { timeline, calls } = attached();

  timeline.dispatchAll([started, start(0, READ), json(0, '{"path":"old"}'), completed]);
  timeline.dispatchAll([started, json(0, '{"path":"b"}'), stop(0, WRITE), completed]);

  expect(calls.takeCollected()).toStrictEqual([{ ...WRITE_CALL, id: 'call_0' }]);
});

test('defect C: the first of two calls is not lost when only the second has stopped so far', () => {
  const { timeline, calls } = attached();

  timeline.dispatchAll([start(0, READ), json(0, '{"path":"a"}'), start(1, WRITE), json(1, '{"path":"b"}')]);
  timeline.dispatch(stop(1, WRITE));
  expect(calls.collected()).toStrictEqual([WRITE_CALL]);
  expect(timeline.currentBlock).toStrictEqual({ type: 'tool-use', index: 0 });

  timeline.dispatch(stop(0, READ));
  expect(calls.takeCollected()).toStrictEqual([READ_CALL, WRITE_CALL]);
});

test('defect D: calls whose arguments arrive interleaved keep their own arguments', () => {
  const { timeline, calls } = attached();

  timeline.dispatchAll([start(0, READ), start(1, WRITE)]);
  timeline.dispatchAll([json(0, '{"pa'), json(1, '{"path"'), json(0, 'th":"a"}'), json(1, ':"b"}')]);
  timeline.dispatchAll([stop(0, READ), stop(1, WRITE)]);

  expect(calls.takeCollected()).toStrictEqual([READ_CALL, WRITE_CALL]);
});

test.each([
  ['cancelled', cancelled],
  ['failed', failed],
])('defect E: nothing of a %s request reaches the next one', (_name, end) => {
  const { timeline, texts, calls } = attached();

  timeline.dispatchAll([started, start(0, TEXT), text(0, 'old text'), stop(0, TEXT)]);
  timeline.dispatchAll([start(1, READ), json(1, '{"path":"old"}'), stop(1, READ), end]);
  expect(calls.hasPendingCalls()).toBe(false);

  timeline.dispatchAll([started, start(0, TEXT), text(0, 'new text'), stop(0, TEXT), completed]);
  expect(texts.takeCollected()).toStrictEqual(['new text']);
  expect(calls.takeCollected()).toStrictEqual([]);
});

test('defect E: open blocks of a cancelled request neither receive nor add events in the next one', () => {
  const { timeline, texts, calls } = attached();

  timeline.dispatchAll([started, text(0, 'old '), start(1, READ), json(1, '{"path":'), cancelled]);
  timeline.dispatchAll([stop(0, TEXT), stop(1, READ)]);
  expect([texts.hasContent(), calls.hasPendingCalls()]).toStrictEqual([false, false]);

  timeline.dispatchAll([started, text(0, 'new'), stop(0, TEXT), completed]);
  expect(texts.takeCollected()).toStrictEqual(['new']);
  expect(calls.takeCollected()).toStrictEqual([]);
});

test('defect F: the stop of a text block does not end a call', () => {
  const { timeline, calls } = attached();

  timeline.dispatchAll([start(0, READ), json(0, '{"path":'), stop(0, TEXT), json(0, '"a"}'), stop(0, READ)]);

  expect(calls.takeCollected()).toStrictEqual([READ_CALL]);
});

test('defect F: a call without its own stop is aborted at the end', () => {
  const { timeline, calls, emitted } = attached();

  timeline.dispatchAll([start(0, READ), json(0, '{"path":"a"}'), stop(0, TEXT)]);
  timeline.abortCurrentBlock('the stream ended');

  expect(emitted.at(-1)).toStrictEqual([
    'tool-use-block',
    { type: 'abort', index: 0, id: 'c1', name: 'read', reason: 'the stream ended' },
  ]);
  expect(calls.hasPendingCalls()).toBe(false);
});

test('defect F: aborting a call after a foreign stop does not affect the text block', () => {
  const { timeline, texts, calls } = attached();

  timeline.dispatchAll([
    start(0, READ),
    text(0, 'a'),
    abort(0, 'tool-use', 'cut off'),
    text(0, 'b'),
    stop(0, TEXT),
  ]);

  expect(calls.hasPendingCalls()).toBe(false);
  expect(texts.takeCollected()).toStrictEqual(['ab']);
});
