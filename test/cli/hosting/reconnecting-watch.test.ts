import { describe, expect, it } from 'vitest';
import { PolypodError } from '../../../src/base/index.ts';
import { reconnectingWatch } from '../../../src/cli/hosting/reconnecting-watch.ts';
import type { PodHandle } from '../../../src/control/index.ts';
import { ADA, promptCommand, hostFixture } from '../../pod/fixture.ts';

const ENDING = { giveUpAfterMs: 30, ending: (id: string) => `${id} is gone: start it again` };

/** A pod whose connection breaks after so many messages, each time. */
function breaking(pod: PodHandle, messages: number): PodHandle {
  return {
    id: pod.id,
    handle: (command, caller) => pod.handle(command, caller),
    briefing: () => pod.briefing(),
    rewindPoints: () => pod.rewindPoints(),
    previewRewind: (entryId) => pod.previewRewind(entryId),
    async *watch(options) {
      let left = messages;
      for await (const watched of pod.watch(options)) {
        yield watched;
        if ((left -= 1) === 0) throw new PolypodError('unreachable', 'the daemon closed the connection');
      }
    },
  };
}

describe('a watch that survives broken connections', () => {
  it('yields every event once, in order, and reports a lost and a restored connection', async () => {
    const { host, cwd } = await hostFixture([{ parts: [{ text: 'A few words of an answer.' }] }]);
    const pod = await host.create({ cwd });
    const states: string[] = [];
    const numbers: number[] = [];
    const leave = new AbortController();
    const watching = reconnectingWatch(breaking(pod, 2), {
      signal: leave.signal,
      isUp: async () => true,
      ifLost: ENDING,
      onConnection: (state) => states.push(state),
    });
    const first = await watching.next();
    if (first.value?.type !== 'snapshot') throw new Error('no snapshot came first');
    await pod.handle(promptCommand('Hello'), ADA);
    for await (const watched of watching) {
      if (watched.type !== 'events') continue;
      numbers.push(...watched.batch.events.map(({ seq }) => seq));
      if (watched.batch.events.some((event) => event.type === 'state' && event.state === 'idle')) break;
    }
    const [from = 0] = numbers;
    expect(from).toBe(first.value.snapshot.seq + 1);
    expect(numbers).toEqual(numbers.map((_, index) => from + index));
    expect(states.length % 2).toBe(0);
    expect(states).toEqual(states.map((_, index) => (index % 2 === 0 ? 'lost' : 'back')));
    expect(states.length).toBeGreaterThan(0);
  });

  it('fails with the next step if it cannot reconnect', async () => {
    const { host, cwd } = await hostFixture([]);
    const pod = await host.create({ cwd });
    const watching = reconnectingWatch(breaking(pod, 1), {
      signal: new AbortController().signal,
      isUp: async () => false,
      ifLost: ENDING,
      onConnection: () => {},
    });
    await watching.next();
    await expect(watching.next()).rejects.toMatchObject({
      code: 'unreachable',
      message: `${pod.id} is gone: start it again`,
    });
  });

  it('ends without an error when it is aborted while disconnected', async () => {
    const { host, cwd } = await hostFixture([]);
    const leave = new AbortController();
    const watching = reconnectingWatch(breaking(await host.create({ cwd }), 1), {
      signal: leave.signal,
      isUp: async () => false,
      ifLost: { ...ENDING, giveUpAfterMs: Number.POSITIVE_INFINITY },
      onConnection: () => leave.abort(),
    });
    await watching.next();
    expect(await watching.next()).toEqual({ done: true, value: undefined });
  });
});
