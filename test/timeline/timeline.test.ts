import { expect, test, vi } from 'vitest';
import type { Trace } from '../../src/llm/index.ts';
import { type Handler, handler, type TextBlockEvent, Timeline } from '../../src/timeline/index.ts';
import {
  abort,
  call,
  completed,
  json,
  listenToAll,
  ping,
  start,
  started,
  stop,
  TEXT,
  text,
  THINKING,
  thinking,
} from './events.ts';

test('a text handler receives the start, every delta and the stop of a block', () => {
  const timeline = new Timeline();
  const emitted = listenToAll(timeline);

  timeline.dispatchAll([
    start(0, TEXT),
    text(0, 'Hel'),
    text(0, 'lo'),
    stop(0, TEXT, { stopReason: 'end-turn' }),
  ]);

  expect(emitted).toStrictEqual([
    ['text-block', { type: 'start', index: 0, source: 'model' }],
    ['text-block', { type: 'delta', index: 0, source: 'model', text: 'Hel' }],
    ['text-block', { type: 'delta', index: 0, source: 'model', text: 'lo' }],
    ['text-block', { type: 'stop', index: 0, source: 'model', stopReason: 'end-turn' }],
  ]);
});

test('a thinking handler receives the block, with its seal at the stop', () => {
  const timeline = new Timeline();
  const emitted = listenToAll(timeline);
  const seal = { wire: 'anthropic', data: { signature: 'abc' } };

  timeline.dispatchAll([start(3, THINKING), thinking(3, 'hm'), stop(3, THINKING, { seal })]);

  expect(emitted).toStrictEqual([
    ['thinking-block', { type: 'start', index: 3 }],
    ['thinking-block', { type: 'delta', index: 3, text: 'hm' }],
    ['thinking-block', { type: 'stop', index: 3, seal }],
  ]);
});

test('every event of a tool call carries its id and name', () => {
  const timeline = new Timeline();
  const emitted = listenToAll(timeline);
  const seal = { wire: 'gemini', data: { thoughtSignature: 'x' } };

  timeline.dispatchAll([
    start(1, call('c1', 'read')),
    json(1, '{"path":'),
    json(1, '"a"}'),
    stop(1, call('c1', 'read'), { stopReason: 'tool-use', seal }),
    start(2, call('c2', 'write')),
    abort(2, 'tool-use', 'cut off'),
  ]);

  expect(emitted).toStrictEqual([
    ['tool-use-block', { type: 'start', index: 1, id: 'c1', name: 'read' }],
    ['tool-use-block', { type: 'input-json', index: 1, id: 'c1', name: 'read', json: '{"path":' }],
    ['tool-use-block', { type: 'input-json', index: 1, id: 'c1', name: 'read', json: '"a"}' }],
    ['tool-use-block', { type: 'stop', index: 1, id: 'c1', name: 'read', stopReason: 'tool-use', seal }],
    ['tool-use-block', { type: 'start', index: 2, id: 'c2', name: 'write' }],
    ['tool-use-block', { type: 'abort', index: 2, id: 'c2', name: 'write', reason: 'cut off' }],
  ]);
});

test('an aborted block ends with an abort and its reason', () => {
  const timeline = new Timeline();
  const emitted = listenToAll(timeline);

  timeline.dispatchAll([
    start(0, THINKING),
    abort(0, 'thinking', 'overloaded'),
    start(1, TEXT),
    abort(1, 'text', 'cut off'),
  ]);

  expect(emitted).toStrictEqual([
    ['thinking-block', { type: 'start', index: 0 }],
    ['thinking-block', { type: 'abort', index: 0, reason: 'overloaded' }],
    ['text-block', { type: 'start', index: 1, source: 'model' }],
    ['text-block', { type: 'abort', index: 1, source: 'model', reason: 'cut off' }],
  ]);
});

test('text handlers receive tool results with their source', () => {
  const timeline = new Timeline();
  const emitted = listenToAll(timeline);
  const result = { blockType: 'tool-result', toolUseId: 'c1' } as const;
  const origin = { source: 'tool-result', toolUseId: 'c1' };

  timeline.dispatchAll([
    start(0, result),
    text(0, '42'),
    stop(0, result),
    start(1, result),
    abort(1, 'tool-result', 'cut off'),
  ]);

  expect(emitted).toStrictEqual([
    ['text-block', { type: 'start', index: 0, ...origin }],
    ['text-block', { type: 'delta', index: 0, ...origin, text: '42' }],
    ['text-block', { type: 'stop', index: 0, ...origin }],
    ['text-block', { type: 'start', index: 1, ...origin }],
    ['text-block', { type: 'abort', index: 1, ...origin, reason: 'cut off' }],
  ]);
});

test('opaque blocks reach no handler, and their end causes no trace', () => {
  const traces: Trace[] = [];
  const timeline = new Timeline({ onTrace: (trace) => traces.push(trace) });
  const emitted = listenToAll(timeline);
  const search = { blockType: 'opaque', name: 'web_search_call' } as const;

  timeline.dispatch(start(0, search));
  expect(timeline.currentBlock).toStrictEqual({ type: 'opaque', index: 0 });
  timeline.dispatch(stop(0, search));
  timeline.dispatchAll([start(1, search), abort(1, 'opaque', 'cut off')]);

  expect(timeline.currentBlock).toBeUndefined();
  expect([emitted, traces]).toStrictEqual([[], []]);
});

test('meta events are delivered in stream order between block events', () => {
  const timeline = new Timeline();
  const emitted = listenToAll(timeline);
  const usage = { type: 'usage', inputTokens: 3, outputTokens: 1, totalTokens: 4 } as const;
  const error = { type: 'error', kind: 'overloaded', message: 'try later' } as const;

  timeline.dispatchAll([started, start(0, TEXT), ping, text(0, 'a'), usage, stop(0, TEXT), error, completed]);

  expect(emitted).toStrictEqual([
    ['status', started],
    ['text-block', { type: 'start', index: 0, source: 'model' }],
    ['ping', ping],
    ['text-block', { type: 'delta', index: 0, source: 'model', text: 'a' }],
    ['usage', usage],
    ['text-block', { type: 'stop', index: 0, source: 'model' }],
    ['error', error],
    ['status', completed],
  ]);
});

test('handlers of one kind are called in the order they were registered', () => {
  const timeline = new Timeline();
  const emitted: string[] = [];
  for (const name of ['first', 'second', 'third'])
    timeline
      .onPing(handler('ping', () => emitted.push(name)))
      .onTextBlock(handler('text-block', ({ type }) => emitted.push(`${name} ${type}`)));

  timeline.dispatchAll([ping, start(0, TEXT), stop(0, TEXT)]);

  expect(emitted).toStrictEqual([
    'first',
    'second',
    'third',
    'first start',
    'second start',
    'third start',
    'first stop',
    'second stop',
    'third stop',
  ]);
});

test('a block handler gets a new scope for each block', () => {
  const timeline = new Timeline();
  const finished: string[][] = [];
  timeline.onTextBlock(
    handler('text-block', {
      scope: (): string[] => [],
      onEvent(words, event) {
        if (event.type === 'delta') words.push(event.text);
        if (event.type === 'stop') finished.push(words);
      },
    }),
  );

  timeline.dispatchAll([start(0, TEXT), text(0, 'a'), text(0, 'b'), stop(0, TEXT)]);
  timeline.dispatchAll([start(1, TEXT), text(1, 'lost'), abort(1, 'text', 'cut off')]);
  timeline.dispatchAll([start(1, TEXT), text(1, 'c'), stop(1, TEXT)]);

  expect(finished).toStrictEqual([['a', 'b'], ['c']]);
});

test('concurrent blocks have separate scopes', () => {
  const timeline = new Timeline();
  const finished: string[] = [];
  timeline.onTextBlock(
    handler('text-block', {
      scope: () => ({ text: '' }),
      onEvent(scope, event) {
        if (event.type === 'delta') scope.text += event.text;
        if (event.type === 'stop') finished.push(scope.text);
      },
    }),
  );

  timeline.dispatchAll([
    start(0, TEXT),
    start(1, TEXT),
    text(1, 'x'),
    text(0, 'a'),
    text(1, 'y'),
    text(0, 'b'),
  ]);
  timeline.dispatchAll([stop(1, TEXT), stop(0, TEXT)]);

  expect(finished).toStrictEqual(['xy', 'ab']);
});

test('handlers of one kind may have scopes of different types', () => {
  const timeline = new Timeline();
  const results: unknown[] = [];
  class Longest implements Handler<'text-block', { length: number }> {
    readonly kind = 'text-block';
    scope() {
      return { length: 0 };
    }
    onEvent(scope: { length: number }, event: TextBlockEvent) {
      if (event.type === 'delta') scope.length = Math.max(scope.length, event.text.length);
      if (event.type === 'stop') results.push(scope.length);
    }
  }
  timeline.onTextBlock(new Longest()).onTextBlock(
    handler('text-block', {
      scope: () => new Set<string>(),
      onEvent(words, event) {
        if (event.type === 'delta') words.add(event.text);
        if (event.type === 'stop') results.push([...words]);
      },
    }),
  );

  timeline.dispatchAll([start(0, TEXT), text(0, 'one'), text(0, 'three'), text(0, 'one'), stop(0, TEXT)]);

  expect(results).toStrictEqual([5, ['one', 'three']]);
});

test('a meta handler keeps the scope it got at registration', () => {
  const timeline = new Timeline();
  const scope = vi.fn(() => ({ count: 0 }));
  const counts: number[] = [];
  timeline.onPing(handler('ping', { scope, onEvent: (kept) => counts.push(++kept.count) }));
  expect(scope).toHaveBeenCalledTimes(1);

  timeline.dispatchAll([ping, started, ping, completed, ping]);

  expect(counts).toStrictEqual([1, 2, 3]);
  expect(scope).toHaveBeenCalledTimes(1);
});

test('a handler registered while a block is open joins it at its next delta', () => {
  const timeline = new Timeline();
  timeline.dispatchAll([start(0, TEXT), text(0, 'early ')]);
  const emitted = listenToAll(timeline);

  timeline.dispatchAll([text(0, 'late'), stop(0, TEXT)]);

  expect(emitted).toStrictEqual([
    ['text-block', { type: 'start', index: 0, source: 'model' }],
    ['text-block', { type: 'delta', index: 0, source: 'model', text: 'late' }],
    ['text-block', { type: 'stop', index: 0, source: 'model' }],
  ]);
});

test('a handler registered after the last delta of a block receives none of its events', () => {
  const timeline = new Timeline();
  timeline.dispatchAll([start(0, TEXT), text(0, 'a')]);
  const emitted = listenToAll(timeline);

  timeline.dispatch(stop(0, TEXT));

  expect(emitted).toStrictEqual([]);
});

test('a handler may register another one', () => {
  const timeline = new Timeline();
  const emitted: string[] = [];
  timeline.onTextBlock(
    handler('text-block', ({ type }) => {
      if (type === 'start') timeline.onTextBlock(handler('text-block', (event) => emitted.push(event.type)));
    }),
  );

  timeline.dispatchAll([start(0, TEXT), text(0, 'a'), stop(0, TEXT)]);

  expect(emitted).toStrictEqual(['start', 'delta', 'stop']);
});

test('a delta without a start opens its block', () => {
  const timeline = new Timeline();
  const emitted = listenToAll(timeline);

  timeline.dispatchAll([thinking(0, 'hm'), text(1, 'a'), json(2, '{}')]);

  expect(emitted).toStrictEqual([
    ['thinking-block', { type: 'start', index: 0 }],
    ['thinking-block', { type: 'delta', index: 0, text: 'hm' }],
    ['text-block', { type: 'start', index: 1, source: 'model' }],
    ['text-block', { type: 'delta', index: 1, source: 'model', text: 'a' }],
    ['tool-use-block', { type: 'start', index: 2, id: 'call_2', name: '' }],
    ['tool-use-block', { type: 'input-json', index: 2, id: 'call_2', name: '', json: '{}' }],
  ]);
});

test('a tool call without a start keeps its generated id and gets its name at the stop', () => {
  const timeline = new Timeline();
  timeline.dispatch(json(2, '{}'));
  const emitted = listenToAll(timeline);

  timeline.dispatchAll([json(2, ' '), stop(2, call('real', 'read'))]);

  expect(emitted.at(-1)).toStrictEqual([
    'tool-use-block',
    { type: 'stop', index: 2, id: 'call_2', name: 'read' },
  ]);
});

test('a delta of another type opens a second block and leaves the first one open', () => {
  const timeline = new Timeline();
  const emitted = listenToAll(timeline);

  timeline.dispatchAll([start(0, call('c', 'read')), text(0, 'a'), json(0, '{}'), text(0, 'b')]);
  timeline.dispatchAll([stop(0, call('c', 'read')), stop(0, TEXT)]);

  expect(emitted).toStrictEqual([
    ['tool-use-block', { type: 'start', index: 0, id: 'c', name: 'read' }],
    ['text-block', { type: 'start', index: 0, source: 'model' }],
    ['text-block', { type: 'delta', index: 0, source: 'model', text: 'a' }],
    ['tool-use-block', { type: 'input-json', index: 0, id: 'c', name: 'read', json: '{}' }],
    ['text-block', { type: 'delta', index: 0, source: 'model', text: 'b' }],
    ['tool-use-block', { type: 'stop', index: 0, id: 'c', name: 'read' }],
    ['text-block', { type: 'stop', index: 0, source: 'model' }],
  ]);
});

test('the end of a block that is not open is traced and reaches no handler', () => {
  const traces: Trace[] = [];
  const timeline = new Timeline({ onTrace: (trace) => traces.push(trace) });
  const emitted = listenToAll(timeline);

  timeline.dispatchAll([stop(4, TEXT), abort(5, 'tool-use', 'cut off')]);

  expect(emitted).toStrictEqual([]);
  expect(traces).toStrictEqual([
    {
      type: 'trace',
      what: 'block-stop of a block that is not open',
      preview: '{"type":"block-stop","index":4,"blockType":"text"}',
    },
    {
      type: 'trace',
      what: 'block-abort of a block that is not open',
      preview: '{"type":"block-abort","index":5,"blockType":"tool-use","reason":"cut off"}',
    },
  ]);
});

test("the stop of a text block does not end a tool's result at the same index", () => {
  const traces: Trace[] = [];
  const timeline = new Timeline({ onTrace: (trace) => traces.push(trace) });

  timeline.dispatchAll([start(0, { blockType: 'tool-result', toolUseId: 'c1' }), stop(0, TEXT)]);

  expect(timeline.currentBlock).toStrictEqual({ type: 'tool-result', index: 0 });
  expect(traces).toHaveLength(1);
});

test('a block that starts again aborts the one before it', () => {
  const timeline = new Timeline();
  const emitted = listenToAll(timeline);

  timeline.dispatchAll([
    start(0, call('c1', 'read')),
    start(0, call('c2', 'write')),
    stop(0, call('c2', 'write')),
  ]);

  expect(emitted).toStrictEqual([
    ['tool-use-block', { type: 'start', index: 0, id: 'c1', name: 'read' }],
    ['tool-use-block', { type: 'abort', index: 0, id: 'c1', name: 'read', reason: 'restarted' }],
    ['tool-use-block', { type: 'start', index: 0, id: 'c2', name: 'write' }],
    ['tool-use-block', { type: 'stop', index: 0, id: 'c2', name: 'write' }],
  ]);
});

test('currentBlock is the most recently opened block that is still open', () => {
  const timeline = new Timeline();
  const current = [timeline.currentBlock];
  for (const event of [
    start(0, THINKING),
    start(1, TEXT),
    thinking(0, 'hm'),
    json(2, '{}'),
    stop(1, TEXT),
    stop(2, call('c', 'read')),
    stop(0, THINKING),
  ]) {
    timeline.dispatch(event);
    current.push(timeline.currentBlock);
  }

  expect(current).toStrictEqual([
    undefined,
    { type: 'thinking', index: 0 },
    { type: 'text', index: 1 },
    { type: 'text', index: 1 },
    { type: 'tool-use', index: 2 },
    { type: 'tool-use', index: 2 },
    { type: 'thinking', index: 0 },
    undefined,
  ]);
});

test('abortCurrentBlock aborts all open blocks in the order they were opened', () => {
  const timeline = new Timeline();
  timeline.onTextBlock(handler('text-block', () => {}));
  const emitted = listenToAll(timeline);
  timeline.dispatchAll([
    start(7, TEXT),
    start(3, call('c', 'read')),
    start(5, THINKING),
    stop(7, TEXT),
    start(7, TEXT),
  ]);
  emitted.length = 0;

  timeline.abortCurrentBlock('cancelled by Ann');

  expect(emitted).toStrictEqual([
    ['tool-use-block', { type: 'abort', index: 3, id: 'c', name: 'read', reason: 'cancelled by Ann' }],
    ['thinking-block', { type: 'abort', index: 5, reason: 'cancelled by Ann' }],
    ['text-block', { type: 'abort', index: 7, source: 'model', reason: 'cancelled by Ann' }],
  ]);
  expect(timeline.currentBlock).toBeUndefined();
});

test('abortCurrentBlock with nothing open does nothing', () => {
  const timeline = new Timeline();
  const emitted = listenToAll(timeline);

  timeline.abortCurrentBlock('cancelled');

  expect(emitted).toStrictEqual([]);
});

test.each(['start', 'delta'])(
  'a handler may abort the block at its %s, and no handler receives more than its end',
  (at) => {
    const timeline = new Timeline();
    const emitted: string[] = [];
    const listen = (name: string) => handler('text-block', ({ type }) => emitted.push(`${name} ${type}`));
    timeline.onTextBlock(listen('before'));
    timeline.onTextBlock(
      handler('text-block', ({ type }) => {
        if (type === at) timeline.abortCurrentBlock('enough');
      }),
    );
    timeline.onTextBlock(listen('after'));

    timeline.dispatchAll([start(0, TEXT), text(0, 'a')].slice(0, at === 'start' ? 1 : 2));

    expect(emitted).toStrictEqual(
      at === 'start'
        ? ['before start', 'before abort']
        : ['before start', 'after start', 'before delta', 'before abort', 'after abort'],
    );
  },
);

test.each([
  [started, 'another request started'],
  [{ type: 'status', status: 'cancelled' } as const, 'cancelled'],
  [{ type: 'status', status: 'failed' } as const, 'the request failed'],
])('open blocks are aborted before the status $status is delivered', (status, reason) => {
  const timeline = new Timeline();
  const emitted = listenToAll(timeline);

  timeline.dispatchAll([start(0, TEXT), status]);

  expect(emitted.slice(1)).toStrictEqual([
    ['text-block', { type: 'abort', index: 0, source: 'model', reason }],
    ['status', status],
  ]);
});

test('a handler that throws keeps its scope, and the others still receive the event', () => {
  const errors: unknown[] = [];
  const timeline = new Timeline({ onHandlerError: (error, kind) => errors.push([error, kind]) });
  const scopes = new Set<object>();
  timeline.onPing(
    handler('ping', () => {
      throw new Error('no pings');
    }),
  );
  timeline.onTextBlock(
    handler('text-block', {
      scope: () => ({}),
      onEvent(scope, { type }) {
        scopes.add(scope);
        // oxlint-disable-next-line typescript/only-throw-error -- handlers may throw anything
        throw type;
      },
    }),
  );
  const emitted = listenToAll(timeline);

  timeline.dispatchAll([ping, start(0, TEXT), text(0, 'a'), stop(0, TEXT)]);

  expect(emitted.map(([kind, event]) => [kind, event.type])).toStrictEqual([
    ['ping', 'ping'],
    ['text-block', 'start'],
    ['text-block', 'delta'],
    ['text-block', 'stop'],
  ]);
  expect(errors).toStrictEqual([
    [new Error('no pings'), 'ping'],
    ['start', 'text-block'],
    ['delta', 'text-block'],
    ['stop', 'text-block'],
  ]);
  expect(scopes.size).toBe(1);
});

test('a handler whose scope factory throws skips only that block', () => {
  const errors: unknown[] = [];
  const timeline = new Timeline({ onHandlerError: (error) => errors.push(error) });
  const emitted: string[] = [];
  let blocks = 0;
  timeline.onTextBlock(
    handler('text-block', {
      scope() {
        if (blocks++ === 0) throw new Error('not yet');
        return {};
      },
      onEvent: (_scope, { type, index }) => emitted.push(`${type} ${index}`),
    }),
  );
  timeline.onTextBlock(handler('text-block', ({ type, index }) => emitted.push(`other ${type} ${index}`)));

  timeline.dispatchAll([start(0, TEXT), text(0, 'a'), stop(0, TEXT), start(1, TEXT), stop(1, TEXT)]);

  expect(errors).toStrictEqual([new Error('not yet')]);
  expect(emitted).toStrictEqual([
    'other start 0',
    'other delta 0',
    'other stop 0',
    'start 1',
    'other start 1',
    'stop 1',
    'other stop 1',
  ]);
});

test('without onHandlerError each error becomes one process warning', () => {
  const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  try {
    const timeline = new Timeline();
    timeline.onTextBlock(
      handler('text-block', ({ type }) => {
        throw new Error(`cannot ${type}`);
      }),
    );

    timeline.dispatchAll([start(0, TEXT), text(0, 'a'), text(0, 'b'), stop(0, TEXT)]);

    expect(emitWarning.mock.calls.map(([warning]) => String(warning).split('\n')[0])).toStrictEqual([
      'A text-block handler threw Error: cannot start',
      'A text-block handler threw Error: cannot delta',
      'A text-block handler threw Error: cannot stop',
    ]);
  } finally {
    emitWarning.mockRestore();
  }
});
