import { describe, expect, it } from 'vitest';
import type { Pod, PodEvent } from '../../../src/pod/index.ts';
import { Listener, promptCommand, hostFixture } from '../fixture.ts';

describe('a watcher that asks for the whole turn', () => {
  it('first receives the events of the turn up to its number, in this process and the next', async () => {
    const { host, cwd, reopen } = await hostFixture([
      { parts: [{ toolCall: { name: 'ls', arguments: { path: '.' } } }] },
      { parts: [{ text: 'Nothing is here.' }], pace: { chunkSize: 3 } },
    ]);
    const pod = await host.create({ cwd });
    const listener = new Listener(pod, 0);
    await pod.handle(promptCommand('What is here?'));
    await listener.waitFor((event) => event.type === 'state' && event.state === 'idle');
    const { events } = listener;
    for (const after of events.map(({ seq }) => seq))
      expect(await firstBatch(pod, after)).toEqual(turnUntil(events, after));
    await host.shutdown();
    const again = (await reopen()).pod(pod.id);
    for (const after of events.map(({ seq }) => seq))
      expect(await firstBatch(again, after)).toEqual(turnUntil(events, after));
  });

  it('gets a snapshot if its number is unknown', async () => {
    const { host, cwd } = await hostFixture([]);
    const pod = await host.create({ cwd });
    for await (const watched of pod.watch({ after: 99, wholeTurn: true })) {
      expect(watched).toMatchObject({ type: 'snapshot', reason: 'gap' });
      break;
    }
  });
});

async function firstBatch(pod: Pod, after: number): Promise<readonly PodEvent[]> {
  for await (const watched of pod.watch({ after, wholeTurn: true })) {
    if (watched.type !== 'events') throw new Error('a snapshot came');
    return watched.batch.events;
  }
  return [];
}

function turnUntil(events: readonly PodEvent[], seq: number): readonly PodEvent[] {
  const published = events.filter((event) => event.seq <= seq);
  const start = published.findLastIndex(({ type }) => type === 'turn-start');
  return published.slice(Math.max(start, 0));
}
