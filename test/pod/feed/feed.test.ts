import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PolypodError } from '../../../src/base/index.ts';
import { type EventBatch, Feed, type Numbered } from '../../../src/pod/feed/index.ts';

interface Fact {
  readonly text: string;
}

/** Written events in memory, and a feed that publishes them right after. */
function written(limit = 10_000) {
  const stored: Numbered<Fact>[] = [];
  const feed = new Feed<Fact>(
    {
      async *read(after) {
        // In small pieces, with event loop turns in between: concurrent events must not be lost or duplicated.
        const past = stored.filter(({ seq }) => seq > after);
        for (let at = 0; at < past.length; at += 3) {
          await turn();
          yield past.slice(at, at + 3);
        }
      },
    },
    0,
    limit,
  );
  const publish = (...texts: readonly string[]): void => {
    const events = texts.map((text, at) => ({ seq: stored.length + at + 1, text }));
    stored.push(...events);
    feed.publish(events);
  };
  return { feed, stored, publish };
}

const never = new AbortController().signal;
const turn = () => new Promise((resolve) => setImmediate(resolve));

async function take(stream: AsyncIterable<EventBatch<Fact>>, count = Number.POSITIVE_INFINITY) {
  const events: Numbered<Fact>[] = [];
  if (count === 0) return events;
  for await (const batch of stream) {
    events.push(...batch.events);
    if (events.length >= count) break;
  }
  return events;
}

const seqsFrom = (first: number, count: number) => Array.from({ length: count }, (_, at) => first + at);

describe('a feed', () => {
  it('resumes after any number with every later event once, also during publishing and at the end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(40),
        fc.nat(40),
        fc.nat(40),
        fc.array(fc.nat(2), { maxLength: 30 }),
        async (before, during, cut, pauses) => {
          const { feed, publish } = written();
          for (let at = 0; at < before; at++) publish(`b${at}`);
          const after = Math.min(cut, before);
          const watching = take(feed.watch(after, never));
          for (let at = 0; at < during; at++) {
            publish(`d${at}`);
            for (let pause = pauses[at] ?? 0; pause > 0; pause--) await turn();
          }
          feed.end();
          const seqs = (await watching).map(({ seq }) => seq);
          expect(seqs).toEqual(seqsFrom(after + 1, before - after + during));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('delivers queued events before the error that ended it', async () => {
    const { feed, publish } = written();
    const watching = feed.watch(0, never);
    publish('kept');
    feed.end(new PolypodError('internal', 'the disk is full'));
    expect((await watching.next()).value?.events).toEqual([{ seq: 1, text: 'kept' }]);
    await expect(watching.next()).rejects.toThrow('the disk is full');
    await expect(feed.watch(1, never).next()).rejects.toThrow('the disk is full');
    expect(feed.watchers).toBe(0);
  });

  it('encodes a batch once for all watchers of a door', async () => {
    const { feed, publish } = written();
    let encodings = 0;
    const encode = (events: readonly Numbered<Fact>[]) => {
      encodings += 1;
      return events.map(({ seq, text }) => `${seq} ${text}\n`).join('');
    };
    const watchers = Array.from({ length: 5 }, async () => {
      for await (const batch of feed.watch(0, never)) return batch.as(encode);
      return '';
    });
    publish('x', 'y');
    expect(await Promise.all(watchers)).toEqual(Array.from({ length: 5 }, () => '1 x\n2 y\n'));
    expect(encodings).toBe(1);
  });

  it('disconnects a watcher that does not read, without affecting the others', async () => {
    const { feed, publish } = written(100);
    const slow = feed.watch(0, never);
    const first = slow.next();
    const quick = take(feed.watch(0, never), 500);
    for (let at = 0; at < 500; at++) {
      publish(String(at));
      await turn();
    }
    expect(await quick).toHaveLength(500);
    expect((await first).value?.lastSeq).toBe(1);
    await expect(slow.next()).rejects.toMatchObject({
      code: 'overloaded',
      message: 'more than 100 events were waiting to be read; watch again after 1',
    });
    expect(feed.watchers).toBe(0);
    const again = take(feed.watch(1, never), 499);
    expect((await again).map(({ seq }) => seq)).toEqual(seqsFrom(2, 499));
  });

  it('disconnects a watcher that reads the history too slowly', async () => {
    const { feed, publish } = written(10);
    publish(...seqsFrom(1, 9).map(String));
    const watching = feed.watch(0, never);
    expect((await watching.next()).value?.lastSeq).toBe(3);
    for (let at = 0; at < 20; at++) publish(String(at));
    await expect(watching.next()).rejects.toThrow('watch again after 3');
  });

  it('delivers at least one batch to a watcher that resumes before disconnecting it during a burst', async () => {
    const { feed, publish } = written(10);
    publish(...seqsFrom(1, 9).map(String));
    let after = 0;
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const watching = feed.watch(after, never);
      const next = watching.next();
      for (let at = 0; at < 20; at++) publish(String(at));
      expect((await next).value?.lastSeq).toBe(after + 3);
      after += 3;
      await expect(watching.next()).rejects.toThrow(`watch again after ${after}`);
    }
  });

  it('does not disconnect a watcher with an empty queue for a batch that exceeds its limit', async () => {
    const { feed, publish } = written(10);
    const watching = feed.watch(0, never);
    const next = watching.next();
    publish(...seqsFrom(1, 50).map(String));
    expect((await next).value?.lastSeq).toBe(50);
    publish(...seqsFrom(51, 50).map(String));
    publish('one more');
    await expect(watching.next()).rejects.toThrow('watch again after 50');
  });

  it("counts a watcher's queued events, not skipped ones", async () => {
    const { feed, publish } = written(10);
    // As after a snapshot that was taken before its events were published: they are published, and not returned.
    const watching = feed.watch(8, never);
    publish(...seqsFrom(1, 9).map(String));
    expect((await watching.next()).value?.events).toHaveLength(1);
    publish(...seqsFrom(10, 9).map(String));
    expect((await watching.next()).value?.lastSeq).toBe(18);
  });

  it('lets a watcher stop at any time, also one that never iterated', async () => {
    const { feed, publish } = written();
    const leave = new AbortController();
    const watching = take(feed.watch(0, leave.signal));
    feed.watch(0, leave.signal);
    publish('a');
    expect(feed.watchers).toBe(2);
    leave.abort();
    expect(feed.watchers).toBe(0);
    publish('b');
    expect((await watching).length).toBeLessThan(2);
    feed.watch(0, leave.signal);
    expect(feed.watchers).toBe(0);
  });
});
