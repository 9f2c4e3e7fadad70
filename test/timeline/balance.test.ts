import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BlockHead, LlmEvent } from '../../src/llm/index.ts';
import { handler, Timeline } from '../../src/timeline/index.ts';
import { abort, json, ping, start, stop, text, thinking } from './events.ts';

const index = fc.nat({ max: 3 });
const head = fc.oneof(
  fc.constantFrom<BlockHead>(
    { blockType: 'text' },
    { blockType: 'thinking' },
    { blockType: 'tool-result', toolUseId: 'r' },
    { blockType: 'opaque', name: 'search' },
  ),
  fc.record({ blockType: fc.constant('tool-use' as const), id: fc.string(), name: fc.string() }),
);
const fragment = fc.string({ maxLength: 3 });

const anyEvent: fc.Arbitrary<LlmEvent> = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(index, head).map(([at, what]) => start(at, what)) },
  { weight: 2, arbitrary: fc.tuple(index, head).map(([at, what]) => stop(at, what)) },
  { weight: 1, arbitrary: fc.tuple(index, head).map(([at, what]) => abort(at, what.blockType, 'cut off')) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.constantFrom(text, thinking, json), index, fragment)
      .map(([make, at, what]) => make(at, what)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<LlmEvent>(
      ping,
      { type: 'usage' },
      { type: 'status', status: 'started' },
      { type: 'status', status: 'completed', stopReason: 'end-turn' },
      { type: 'status', status: 'cancelled' },
      { type: 'status', status: 'failed' },
      { type: 'error', kind: 'provider', message: '' },
    ),
  },
);

/** An extra action of a handler at a chosen event. */
type HandlerFault = 'none' | 'throw' | 'abort';

const newScope = () => ({});

/** Registers a handler of each block kind and fails at the first unexpected event. */
class BalanceWatch {
  readonly #open = new Map<string, object>();
  readonly #used = new WeakSet<object>();
  readonly problems: string[] = [];

  constructor(timeline: Timeline, nextFault: () => HandlerFault) {
    const act = () => {
      const fault = nextFault();
      if (fault === 'throw') throw new Error('handler fault');
      if (fault === 'abort') timeline.abortCurrentBlock('handler fault');
    };
    const onEvent = (kind: string) => (given: object, event: { type: string; index: number }) => {
      this.#see(`${kind} ${event.index}`, given, event.type);
      act();
    };
    timeline
      .onTextBlock(handler('text-block', { scope: newScope, onEvent: onEvent('text') }))
      .onThinkingBlock(handler('thinking-block', { scope: newScope, onEvent: onEvent('thinking') }))
      .onToolUseBlock(handler('tool-use-block', { scope: newScope, onEvent: onEvent('tool-use') }));
  }

  get stillOpen(): readonly string[] {
    return [...this.#open.keys()];
  }

  #see(block: string, scope: object, type: string): void {
    if (type === 'start') {
      if (this.#open.has(block)) this.problems.push(`${block} started twice`);
      if (this.#used.has(scope)) this.problems.push(`${block} started with a used scope`);
      this.#used.add(scope);
      this.#open.set(block, scope);
      return;
    }
    if (this.#open.get(block) !== scope) this.problems.push(`${block}: ${type} outside its block or scope`);
    if (type === 'stop' || type === 'abort') this.#open.delete(block);
  }
}

test('for any stream, every handler receives every block from one start to one end', () => {
  const anyFaults = fc.infiniteStream(
    fc.oneof(
      { weight: 8, arbitrary: fc.constant<HandlerFault>('none') },
      { weight: 1, arbitrary: fc.constantFrom<HandlerFault>('throw', 'abort') },
    ),
  );
  fc.assert(
    fc.property(
      fc.array(anyEvent, { maxLength: 60 }),
      fc.nat({ max: 60 }),
      anyFaults,
      (events, late, faults) => {
        const timeline = new Timeline({ onHandlerError: () => {} });
        const next = (): HandlerFault => faults.next().value ?? 'none';
        const watches = [new BalanceWatch(timeline, next), new BalanceWatch(timeline, next)];
        timeline.dispatchAll(events.slice(0, late));
        watches.push(new BalanceWatch(timeline, next));
        timeline.dispatchAll(events.slice(late));

        timeline.abortCurrentBlock('the end');

        expect(watches.flatMap(({ problems }) => problems)).toStrictEqual([]);
        expect(watches.flatMap(({ stillOpen }) => stillOpen)).toStrictEqual([]);
        expect(timeline.currentBlock).toBeUndefined();
      },
    ),
    { numRuns: 1000 },
  );
});
