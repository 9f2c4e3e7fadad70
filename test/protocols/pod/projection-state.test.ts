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
  ['while it runs', false, []],
  ['when its run is over', true, [idle]],
  ['while a prompt waits that it will take by itself', false, [queued('prompt'), idle]],
  ['when what waits is only for a run that somebody begins', true, [queued('follow-up'), idle]],
  ['when the prompt was run', true, [queued('prompt'), idle, taken, idle]],
  ['when the prompt was taken back', true, [queued('prompt'), idle, { type: 'unqueued', queueIds: ['q1'] }]],
  ['when it is paused, whatever waits', true, [queued('prompt'), { type: 'state', state: 'paused' }]],
] as const)('a pod %s is quiet: %s', (_, isQuiet, facts) => {
  expect(isQuietAfter(...facts)).toBe(isQuiet);
});
