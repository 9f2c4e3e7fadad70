import { describe, expect, it } from 'vitest';
import { AnswerItems, type LlmEvent, textContent } from '../../src/llm/index.ts';

const BROKEN: readonly LlmEvent[] = [
  { type: 'block-start', index: 0, blockType: 'thinking' },
  { type: 'block-delta', index: 0, delta: { type: 'thinking', text: 'hm' } },
  { type: 'block-stop', index: 0, blockType: 'thinking' },
  { type: 'block-start', index: 1, blockType: 'tool-use', id: 'c', name: 'ls' },
  { type: 'block-stop', index: 1, blockType: 'tool-use', id: 'c', name: 'ls' },
  { type: 'block-start', index: 2, blockType: 'text' },
  { type: 'block-delta', index: 2, delta: { type: 'text', text: 'Hel' } },
  { type: 'block-start', index: 3, blockType: 'text' },
  { type: 'block-abort', index: 2, blockType: 'text', reason: 'cancelled' },
];

describe('AnswerItems of an answer that was cut off', () => {
  const items = new AnswerItems();
  for (const event of BROKEN) items.add(event);

  it('items returns the finished blocks', () => {
    expect(items.items().map(({ type }) => type)).toEqual(['reasoning', 'tool-call']);
  });

  it('partialItems includes unfinished text and leaves out tool calls', () => {
    expect(items.partialItems()).toEqual([
      { type: 'reasoning', text: 'hm' },
      { type: 'message', role: 'assistant', content: textContent('Hel') },
    ]);
  });
});
