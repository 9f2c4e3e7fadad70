import { describe, expect, it } from 'vitest';
import { PolypodError } from '../../../src/base/index.ts';
import type { Pod, PodEvent, WatchItem } from '../../../src/pod/index.ts';
import { scriptedModel, turns } from './resume-fixture.ts';
import { Listener, promptCommand, hostFixture } from '../fixture.ts';

const LIMIT = 200;
const DELTAS = 3_000;
const flood = promptCommand(`go\n[[sim deltas=${DELTAS} size=8]]`);

/** Reads until it is disconnected; returns the events and the error. */
async function readOn(watching: AsyncGenerator<WatchItem>) {
  const events: PodEvent[] = [];
  try {
    for await (const step of watching) if (step.type === 'events') events.push(...step.batch.events);
  } catch (error) {
    return { events, error };
  }
  return { events, error: undefined };
}

/** Takes the first batch, and then nothing. */
async function lazyWatcher(
  pod: Pod,
): Promise<{ readonly seq: number; readonly watching: AsyncGenerator<WatchItem> }> {
  const watching = pod.watch();
  const { value } = await watching.next();
  return { watching, seq: value?.type === 'snapshot' ? value.snapshot.seq : 0 };
}

describe('a watcher that does not read', () => {
  it('is disconnected with the number to resume after, and fifty others receive everything', async () => {
    const { host, cwd } = await hostFixture(scriptedModel, { limits: { watcher: LIMIT } });
    const pod = await host.create({ cwd });
    const others = Array.from({ length: 50 }, () => new Listener(pod, 0));
    const { seq, watching } = await lazyWatcher(pod);
    await pod.handle(flood);
    const ends = await Promise.all(others.map((listener) => listener.waitForType('run-end')));
    await Promise.all(others.map((listener) => listener.waitFor(({ seq }) => seq > (ends[0]?.seq ?? 0))));
    const [first] = others;
    const all = first?.events ?? [];
    expect(all.length).toBeGreaterThan(DELTAS);
    expect(all.map((event) => event.seq)).toEqual(all.map((_, at) => at + 1));
    for (const { events } of others) expect(events).toEqual(all);

    const { events, error } = await readOn(watching);
    expect(events).toEqual([]);
    expect(error).toMatchObject({
      code: 'overloaded',
      message: `more than ${LIMIT} events were waiting to be read; watch again after ${seq}`,
    });

    const again = new Listener(pod, seq);
    await again.waitFor((event) => event.seq === all.at(-1)?.seq);
    expect(again.snapshots).toEqual([]);
    expect(again.events).toEqual(all.filter((event) => event.seq > seq));
  });

  it('gets the last number it received, wherever it stopped, and receives each event once', async () => {
    const { host, cwd } = await hostFixture(scriptedModel, { limits: { watcher: LIMIT } });
    const pod = await host.create({ cwd });
    const early = new Listener(pod, 0);
    const got: PodEvent[] = [];
    let cuts = 0;
    const slow = (async () => {
      while (got.at(-1)?.type !== 'state' || !got.some(({ type }) => type === 'run-end')) {
        const after = got.at(-1)?.seq ?? 0;
        try {
          for await (const step of pod.watch({ after })) {
            if (step.type === 'snapshot') throw new Error('a snapshot came where the events are kept');
            got.push(...step.batch.events);
            if (got.at(-1)?.type === 'state' && got.some(({ type }) => type === 'run-end')) return;
            // Long enough for the queue to fill, while events are published.
            const full = early.lastSeq + LIMIT;
            while (early.lastSeq <= full && !early.types.includes('run-end')) await turns(1);
          }
        } catch (error) {
          if (!(error instanceof PolypodError)) throw error;
          expect(error.message).toContain(`watch again after ${got.at(-1)?.seq ?? 0}`);
          cuts += 1;
        }
      }
    })();
    await pod.handle(flood);
    await slow;
    expect(got).toEqual(early.events.slice(0, got.length));
    expect(got.length).toBeGreaterThan(DELTAS);
    expect(cuts).toBeGreaterThan(0);
  });

  it('does not keep its pod in memory, nor do watchers that have ended', async () => {
    const { host, cwd } = await hostFixture(scriptedModel, {
      limits: { watcher: LIMIT },
      hibernateAfterMs: 0,
    });
    const pod = await host.create({ cwd });
    const { watching } = await lazyWatcher(pod);
    const listener = new Listener(pod, 0);
    await pod.handle(flood);
    await listener.waitForType('run-end');
    await listener.stop();
    await expect(watching.next()).rejects.toMatchObject({ code: 'overloaded' });
    while (host.usage.pods > 0) await turns(1);
  });
});
