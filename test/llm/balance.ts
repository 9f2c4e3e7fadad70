import { expect } from 'vitest';
import type { LlmEvent } from '../../src/llm/index.ts';

/** Asserts that every block has one start and one stop or abort, and that the request ends as event.ts specifies. */
export function expectBalanced(events: readonly LlmEvent[]): void {
  const open = new Map<number, string>();
  let usages = 0;
  for (const [at, event] of events.entries()) {
    switch (event.type) {
      case 'block-start':
        expect(open.has(event.index), `block ${event.index} starts twice`).toBe(false);
        open.set(event.index, event.blockType);
        break;
      case 'block-delta':
        expect(matches(open.get(event.index), event.delta.type), `delta ${JSON.stringify(event)}`).toBe(true);
        break;
      case 'block-stop':
      case 'block-abort':
        expect(open.get(event.index), `end of block ${event.index}`).toBe(event.blockType);
        open.delete(event.index);
        break;
      case 'usage':
        usages += 1;
        expect(events[at + 1]?.type, 'usage comes right before the last event').toBe('status');
        break;
      case 'status':
        expect(event.status === 'started', `status ${event.status} at ${at}`).toBe(at < events.length - 1);
        break;
      case 'error':
        expect(events.at(-1)).toEqual({ type: 'status', status: 'failed' });
        break;
      default:
    }
  }
  expect([...open.keys()], 'blocks left open').toEqual([]);
  expect(usages).toBeLessThanOrEqual(1);
  expect(events.filter((event) => event.type === 'error').length).toBeLessThanOrEqual(1);
  expect(events.at(-1)?.type).toBe('status');
}

function matches(blockType: string | undefined, delta: string): boolean {
  if (delta !== 'input-json') return blockType === delta;
  return blockType === 'tool-use' || blockType === 'opaque';
}

/** Splits a recording into exchanges, each ending with its last status. */
export function exchangesOf(events: readonly LlmEvent[]): readonly (readonly LlmEvent[])[] {
  const exchanges: LlmEvent[][] = [[]];
  for (const event of events) {
    exchanges.at(-1)?.push(event);
    if (event.type === 'status' && event.status !== 'started') exchanges.push([]);
  }
  return exchanges.filter((exchange) => exchange.length > 0);
}

/** The text of all blocks of one kind, in block order. */
export function joined(events: readonly LlmEvent[], kind: 'text' | 'thinking'): string {
  return events
    .map((event) => (event.type === 'block-delta' && event.delta.type === kind ? event.delta.text : ''))
    .join('');
}

/** Name and arguments of every tool call, in order of their start. */
export function callsIn(events: readonly LlmEvent[]): readonly { name: string; arguments: string }[] {
  const calls = new Map<number, { name: string; arguments: string }>();
  for (const event of events) {
    if (event.type === 'block-start' && event.blockType === 'tool-use') {
      calls.set(event.index, { name: event.name, arguments: '' });
    }
    if (event.type === 'block-delta' && event.delta.type === 'input-json') {
      const call = calls.get(event.index);
      if (call) call.arguments += event.delta.json;
    }
  }
  return [...calls.values()];
}
