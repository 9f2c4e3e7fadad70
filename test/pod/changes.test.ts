import { describe, expect, it } from 'vitest';
import type { Change, PodEvent } from '../../src/pod/index.ts';
import { ADA, Listener, promptCommand, hostFixture } from './fixture.ts';

const textAnswer = (text: string) => ({ parts: [{ text }] });

describe('a listener for changes', () => {
  it('can watch a pod from the change on without missing an event', async () => {
    const { host, cwd } = await hostFixture([textAnswer('one'), textAnswer('two')]);
    const changes: Change[] = [];
    const listeners: Listener[] = [];
    const forget = host.sessions.onChange((change) => {
      changes.push(change);
      // All events of a new pod are new; of a known pod, those that were not published yet.
      if (changes.length === 1) listeners.push(new Listener(host.pod(change.id), 0));
    });
    const pod = await host.create({ cwd });
    const before = await pod.snapshot();
    const all = new Listener(pod, 0);
    await pod.handle(promptCommand('go'), ADA);
    await all.waitFor((event) => event.type === 'state' && event.state === 'idle');
    const isIdle = (event: PodEvent) => event.type === 'state' && event.state === 'idle';
    await listeners[0]?.waitFor(isIdle);
    expect(listeners[0]?.events).toEqual(all.events);
    expect(changes.map(({ before: row }) => row?.state).slice(0, 2)).toEqual([undefined, 'idle']);
    expect(changes.every(({ id, last, publishedSeq }) => id === pod.id && publishedSeq <= last)).toBe(true);
    expect(changes.at(-1)?.last).toBeGreaterThan(before.seq);
    forget();
    const count = changes.length;
    await pod.handle({ type: 'configure', set: { name: 'x' } }, ADA);
    expect(changes).toHaveLength(count);
  });
});

describe('a catalogue row', () => {
  it('contains the run with its times and failure reason, settings and annotations', async () => {
    const { host, cwd } = await hostFixture([{ parts: [], fault: { kind: '401' } }]);
    const annotations = { door: { note: 'x' } };
    const pod = await host.create({ cwd, settings: { annotations, acceptEdits: true } });
    const listener = new Listener(pod, 0);
    await pod.handle({ type: 'configure', set: { skipPermissionsUntil: '2030-01-01T00:00:00Z' } }, ADA);
    const { runId } = await pod.handle(promptCommand('go'), ADA);
    const end = await listener.waitForType('run-end');
    await listener.waitFor((event) => event.type === 'state' && event.state === 'idle');
    expect(host.sessions.get(pod.id)).toMatchObject({
      acceptEdits: true,
      skipPermissionsUntil: '2030-01-01T00:00:00Z',
      annotations,
      lastRun: {
        runId,
        status: 'failed',
        startedAt: expect.any(String),
        endedAt: expect.any(String),
        message: end.outcome.status === 'failed' ? end.outcome.failure.message : '',
      },
    });
  });

  it('of a fork has no annotations; of a child names its parent; is closed until the next activity', async () => {
    const { host, cwd } = await hostFixture([]);
    const pod = await host.create({ cwd, settings: { annotations: { a: 1 } } });
    const fork = await host.fork(pod.id);
    expect(host.sessions.get(fork.id)).not.toHaveProperty('annotations');
    expect((await fork.snapshot()).settings).not.toHaveProperty('annotations');
    const child = await host.spawn(pod.id, { cwd });
    await child.snapshot();
    expect(host.sessions.get(child.id)).toMatchObject({ parentId: pod.id, spawned: true });
    expect(host.sessions.get(fork.id)).not.toHaveProperty('spawned');
    await fork.handle({ type: 'close' }, ADA);
    expect(host.sessions.get(fork.id)).toMatchObject({ closed: true });
    await host.pod(fork.id).handle({ type: 'configure', set: { name: 'open' } }, ADA);
    expect(host.sessions.get(fork.id)).not.toHaveProperty('closed');
  });
});

it('rejects long annotations', async () => {
  const { host, cwd } = await hostFixture([]);
  const pod = await host.create({ cwd });
  const annotations = { text: 'x'.repeat(70_000) };
  await expect(pod.handle({ type: 'configure', set: { annotations } }, ADA)).rejects.toThrow(
    'must not be longer',
  );
});
