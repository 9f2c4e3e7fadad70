import { expect, test } from 'vitest';
import { Timeline, ToolCallCollector } from '../../src/timeline/index.ts';
import { abort, call, cancelled, completed, failed, json, start, started, stop } from './events.ts';

function attached() {
  const timeline = new Timeline();
  return { timeline, calls: new ToolCallCollector().attach(timeline) };
}

/** The calls collected from one call with these argument fragments. */
function collect(...fragments: readonly string[]) {
  const { timeline, calls } = attached();
  timeline.dispatch(start(0, call('c', 'read')));
  timeline.dispatchAll(fragments.map((fragment) => json(0, fragment)));
  timeline.dispatch(stop(0, call('c', 'read')));
  return calls.takeCollected();
}

test('a completed call is collected with its arguments as text and parsed', () => {
  expect(collect('{"path"', ': "a.txt",', ' "lines": [1, 2]}')).toStrictEqual([
    {
      id: 'c',
      name: 'read',
      arguments: '{"path": "a.txt", "lines": [1, 2]}',
      input: { path: 'a.txt', lines: [1, 2] },
    },
  ]);
});

test.each([[[]], [['']], [[' ', '\n']]])(
  'a call without arguments has an empty object of them: %j',
  (fragments) => {
    expect(collect(...fragments)).toStrictEqual([{ id: 'c', name: 'read', arguments: '{}', input: {} }]);
  },
);

test('a call whose arguments are not JSON is invalid and has no input', () => {
  const [broken] = collect('{"path": "a');

  expect(broken).toStrictEqual({
    id: 'c',
    name: 'read',
    arguments: '{"path": "a',
    invalid: expect.stringMatching(/^The arguments are not valid JSON: ./),
  });
});

test.each(['null', '[]', '"a"', '1', 'true'])('a call whose arguments are %s is invalid', (text) => {
  expect(collect(text)).toStrictEqual([
    { id: 'c', name: 'read', arguments: text, invalid: 'The arguments are not a JSON object.' },
  ]);
});

test("a call keeps the provider's seal", () => {
  const { timeline, calls } = attached();
  const seal = { wire: 'gemini', data: { thoughtSignature: 'x' } };

  timeline.dispatchAll([start(0, call('c', 'read')), stop(0, call('c', 'read'), { seal })]);

  expect(calls.takeCollected()).toStrictEqual([{ id: 'c', name: 'read', arguments: '{}', input: {}, seal }]);
});

test('parallel calls are returned in call order, whichever ended first', () => {
  const { timeline, calls } = attached();
  const heads = [call('a', 'read'), call('b', 'read'), call('c', 'read')] as const;

  timeline.dispatchAll(heads.map((head, index) => start(index, head)));
  timeline.dispatchAll([stop(1, heads[1]), stop(2, heads[2]), stop(0, heads[0])]);

  expect(calls.takeCollected().map(({ id }) => id)).toStrictEqual(['a', 'b', 'c']);
});

test('calls stay pending until they are taken or cleared', () => {
  const { timeline, calls } = attached();
  const one = [start(0, call('c', 'read')), stop(0, call('c', 'read'))];
  expect(calls.hasPendingCalls()).toBe(false);

  timeline.dispatchAll(one);
  expect(calls.hasPendingCalls()).toBe(true);
  expect(calls.collected()).toStrictEqual(calls.takeCollected());
  expect(calls.hasPendingCalls()).toBe(false);

  timeline.dispatchAll(one);
  calls.clear();
  expect(calls.takeCollected()).toStrictEqual([]);
});

test('a call is not pending before its block has ended, and never when it was aborted', () => {
  const { timeline, calls } = attached();

  timeline.dispatchAll([start(0, call('c', 'read')), json(0, '{}')]);
  expect(calls.hasPendingCalls()).toBe(false);

  timeline.dispatch(abort(0, 'tool-use', 'cut off'));
  expect(calls.hasPendingCalls()).toBe(false);
});

test('calls that the provider ran itself are not collected', () => {
  const { timeline, calls } = attached();
  const search = { blockType: 'opaque', name: 'server_tool_use' } as const;

  timeline.dispatchAll([start(0, search), stop(0, search)]);

  expect(calls.hasPendingCalls()).toBe(false);
});

test.each([cancelled, failed, started])('calls of an earlier request are dropped after $status', (status) => {
  const { timeline, calls } = attached();

  timeline.dispatchAll([started, start(0, call('c', 'read')), stop(0, call('c', 'read')), status]);

  expect(calls.hasPendingCalls()).toBe(false);
});

test('calls of a completed request stay', () => {
  const { timeline, calls } = attached();

  timeline.dispatchAll([started, start(0, call('c', 'read')), stop(0, call('c', 'read')), completed]);

  expect(calls.hasPendingCalls()).toBe(true);
});

test('a call of a hundred thousand fragments is parsed once, at its end', () => {
  const fragments = Array.from({ length: 100_000 }, () => 'x');

  expect(collect('{"text":"', ...fragments, '"}')).toMatchObject([{ input: { text: 'x'.repeat(100_000) } }]);
});
