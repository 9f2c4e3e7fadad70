import { expect, test } from 'vitest';
import {
  type Handler,
  handler,
  type TextBlockEvent,
  TextBlockCollector,
  Timeline,
  type ToolCall,
  ToolCallCollector,
} from '../../src/timeline/index.ts';

// The compiler is the test: `@ts-expect-error` is an error if the next line compiles.

test('a handler does not compile with the registration of another kind', () => {
  const timeline = new Timeline();
  timeline.onTextBlock(handler('text-block', () => {}));
  // @ts-expect-error a thinking handler is not a text handler, although their events have the same shape
  timeline.onTextBlock(handler('thinking-block', () => {}));
  // @ts-expect-error
  timeline.onThinkingBlock(handler('text-block', () => {}));
  // @ts-expect-error
  timeline.onToolUseBlock(new TextBlockCollector());
  // @ts-expect-error
  timeline.onTextBlock(new ToolCallCollector());
  // @ts-expect-error
  timeline.onUsage(handler('ping', () => {}));
  // @ts-expect-error
  timeline.onStatus(handler('error', () => {}));
  // @ts-expect-error there is no such kind
  handler('tool-result-block', () => {});
  expect(timeline.currentBlock).toBeUndefined();
});

test('a field of another event does not compile', () => {
  const handlers = [
    handler('text-block', (event) => {
      // @ts-expect-error only a delta has text
      void event.text;
      // @ts-expect-error text is not JSON
      if (event.type === 'delta') void event.json;
      // @ts-expect-error only a tool's result has a toolUseId
      if (event.type === 'delta' && event.source === 'model') void event.toolUseId;
      if (event.type === 'delta' && event.source === 'tool-result') void [event.text, event.toolUseId];
      // @ts-expect-error only an abort has a reason
      if (event.type === 'stop') void event.reason;
    }),
    handler('thinking-block', (event) => {
      // @ts-expect-error thinking has one source
      void event.source;
      if (event.type === 'delta') void event.text;
    }),
    handler('tool-use-block', (event) => {
      // @ts-expect-error a call has JSON fragments, not text deltas
      if (event.type === 'delta') void event;
      // @ts-expect-error
      if (event.type === 'input-json') void event.text;
      if (event.type === 'stop') void [event.id, event.name, event.seal];
    }),
    handler('usage', (event) => {
      // @ts-expect-error
      void event.index;
      void event.totalTokens;
    }),
  ];
  expect(handlers.map(({ kind }) => kind)).toHaveLength(4);
});

test('a scope of another type does not compile', () => {
  const timeline = new Timeline();
  handler('text-block', {
    scope: () => ({ text: '' }),
    onEvent(scope) {
      scope.text += '';
      // @ts-expect-error the scope has no such field
      void scope.json;
    },
  });
  handler('text-block', {
    // @ts-expect-error the handler requires more fields than its scope has
    scope: () => ({ text: '' }),
    onEvent(_scope: { text: string; count: number }) {},
  });
  handler('text-block', {
    scope: () => ({ text: '' }),
    // @ts-expect-error the handler must accept every event of its kind
    onEvent(_scope: { text: string }, _event: TextBlockEvent & { type: 'delta' }) {},
  });
  // @ts-expect-error a string cannot be mutated
  handler('text-block', { scope: () => '', onEvent() {} });

  class Mismatched {
    readonly kind = 'text-block';
    scope() {
      return { count: 0 };
    }
    onEvent(_scope: { text: string }, _event: TextBlockEvent) {}
  }
  // @ts-expect-error the class creates one type of scope and accepts another
  timeline.onTextBlock(new Mismatched());
  // @ts-expect-error
  const mismatched: Handler<'text-block', { count: number }> = new Mismatched();
  expect(mismatched.kind).toBe('text-block');
});

test('the input of a call does not compile before invalid is checked', () => {
  expect(pathOf({ id: 'c', name: 'read', arguments: '{"path":"a"}', input: { path: 'a' } })).toBe('a');
});

function pathOf(call: ToolCall): unknown {
  // @ts-expect-error there may be no input
  const unchecked: object = call.input;
  if (call.invalid !== undefined) {
    const none: undefined = call.input;
    return none;
  }
  return call.input['path'] ?? unchecked;
}
