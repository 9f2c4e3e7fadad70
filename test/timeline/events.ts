import type { BlockHead, BlockType, LlmEvent, Seal, StopReason } from '../../src/llm/index.ts';
import { handler, type Kind, type EventOf, type Timeline } from '../../src/timeline/index.ts';

export const started: LlmEvent = { type: 'status', status: 'started' };
export const completed: LlmEvent = { type: 'status', status: 'completed', stopReason: 'end-turn' };
export const cancelled: LlmEvent = { type: 'status', status: 'cancelled' };
export const failed: LlmEvent = { type: 'status', status: 'failed' };
export const ping: LlmEvent = { type: 'ping' };

export const TEXT = { blockType: 'text' } as const;
export const THINKING = { blockType: 'thinking' } as const;

export function call(id: string, name: string): BlockHead {
  return { blockType: 'tool-use', id, name };
}

export function start(index: number, head: BlockHead): LlmEvent {
  return { type: 'block-start', index, ...head };
}

export function stop(
  index: number,
  head: BlockHead,
  end: { stopReason?: StopReason; seal?: Seal } = {},
): LlmEvent {
  return { type: 'block-stop', index, ...head, ...end };
}

export function abort(index: number, blockType: BlockType, reason: string): LlmEvent {
  return { type: 'block-abort', index, blockType, reason };
}

export function text(index: number, fragment: string): LlmEvent {
  return { type: 'block-delta', index, delta: { type: 'text', text: fragment } };
}

export function thinking(index: number, fragment: string): LlmEvent {
  return { type: 'block-delta', index, delta: { type: 'thinking', text: fragment } };
}

export function json(index: number, fragment: string): LlmEvent {
  return { type: 'block-delta', index, delta: { type: 'input-json', json: fragment } };
}

export type EmittedEvent = { [K in Kind]: readonly [K, EventOf<K>] }[Kind];

/** Registers a handler of every kind and returns the list of events that they receive. */
export function listenToAll(timeline: Timeline): EmittedEvent[] {
  const emitted: EmittedEvent[] = [];
  timeline
    .onUsage(handler('usage', (event) => emitted.push(['usage', event])))
    .onPing(handler('ping', (event) => emitted.push(['ping', event])))
    .onStatus(handler('status', (event) => emitted.push(['status', event])))
    .onError(handler('error', (event) => emitted.push(['error', event])))
    .onTextBlock(handler('text-block', (event) => emitted.push(['text-block', event])))
    .onThinkingBlock(handler('thinking-block', (event) => emitted.push(['thinking-block', event])))
    .onToolUseBlock(handler('tool-use-block', (event) => emitted.push(['tool-use-block', event])));
  return emitted;
}
