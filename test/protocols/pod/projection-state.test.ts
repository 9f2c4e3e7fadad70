import { expect, it } from 'vitest';
import type { PodEvent, PodFact } from '../../../src/pod/index.ts';
import { ProjectionState } from '../../../src/protocols/pod/encode/projection-state.ts';

const idle: PodFact = { type: 'state', state: 'idle' };
const queued = (lane: 'prompt' | 'follow-up'): PodFact => ({
  type: 'queued',
  queueId: 'q1',
  lane,
  content: [{ type: 'text', text: 'Then that' }],
});
const taken: PodFact = {
  type: 'input',
  origin: 'prompt',
  queueId: 'q1',
  item: { type: 'message', role: 'user', content: [{ type: 'text', text: 'Then that' }] },
};

function isQuietAfter(...facts: readonly PodFact[]): boolean {
  const projection = new ProjectionState({ podId: 'p', name: undefined, state: 'running', seq: 0, turn: 1 });
  for (const [index, fact] of facts.entries()) {
    const event: PodEvent = { ...fact, seq: index + 1 };
    projection.apply(event);
  }
  return projection.isQuiet;
}

it.each([
  ['during a run', false, []],
  ['after its run', true, [idle]],
  ['with a queued prompt, which starts a run', false, [queued('prompt'), idle]],
  ['with a queued follow-up, which starts no run', true, [queued('follow-up'), idle]],
  ['after the queued prompt was run', true, [queued('prompt'), idle, taken, idle]],
  [
    'after the queued prompt was removed',
    true,
    [queued('prompt'), idle, { type: 'unqueued', queueIds: ['q1'] }],
  ],
  ['that is paused, also with a queued prompt', true, [queued('prompt'), { type: 'state', state: 'paused' }]],
] as const)('a pod %s is quiet: %s', (_, isQuiet, facts) => {
  expect(isQuietAfter(...facts)).toBe(isQuiet);
});
