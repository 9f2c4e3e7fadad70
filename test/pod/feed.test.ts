import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PolypodError } from '../../src/base/index.ts';
import { type Batch, Feed, type Journal, type Numbered } from '../../src/pod/feed/index.ts';

interface Fact {
  readonly text: string;
}

/** A journal in memory whose writes are answered when the test says so, or at once. */
function memory(kept: Numbered<Fact>[] = []) {
  const waiting: (() => void)[] = [];
  let held = false;
  let broken: Error | undefined;
  const journal: Journal<Fact> = {
    async append(events) {
      if (held) await new Promise<void>((resolve) => waiting.push(resolve));
      if (broken !== undefined) throw broken;
      kept.push(...events);
    },
    async *read(after) {
      // In small pieces, with turns of the loop between them: what is published meanwhile must not be lost or doubled.
      const past = kept.filter(({ seq }) => seq > after);
      for (let at = 0; at < past.length; at += 3) {
        await new Promise((resolve) => setImmediate(resolve));
        yield past.slice(at, at + 3);
      }
    },
  };
  return {
    journal,
    kept,
    hold: () => {
      held = true;
    },
    release: () => {
      held = false;
      for (const go of waiting.splice(0)) go();
    },
    fail: (error: Error) => {
      broken = error;
    },
  };
}

function feedOn(journal: Journal<Fact>, options: { lastSeq?: number; watcherLimit?: number } = {}) {
  const failures: PolypodError[] = [];
  const feed = new Feed<Fact>({
    journal,
    lastSeq: options.lastSeq ?? 0,
    watcherLimit: options.watcherLimit ?? 10_000,
    onFailure: (error) => failures.push(error),
  });
  return { feed, failures };
}

const fact = (text: string): Fact => ({ text });
const never = new AbortController().signal;

async function take(stream: AsyncGenerator<Batch<Fact>>, count: number): Promise<readonly Numbered<Fact>[]> {
  const events: Numbered<Fact>[] = [];
  for await (const batch of stream) {
    events.push(...batch.events);
    if (events.length >= count) break;
  }
  return events;
}

describe('a feed', () => {
  it('numbers events, and goes on with the numbers after a restart', async () => {
    const { journal } = memory();
    const { feed } = feedOn(journal, { lastSeq: 41 });
    expect(await feed.publish([fact('a'), fact('b')], true)).toEqual([
      { text: 'a', seq: 42 },
      { text: 'b', seq: 43 },
    ]);
  });

  it('tells nobody of what is not written yet, and keeps the order', async () => {
    const { journal, hold, release } = memory();
    const { feed } = feedOn(journal);
    const seen: string[] = [];
    const watching = (async () => {
      for await (const batch of feed.watch(0, never)) seen.push(...batch.events.map(({ text }) => text));
    })();
    hold();
    const first = feed.publish([fact('one')], true);
    const second = feed.publish([fact('two')], false);
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen).toEqual([]);
    release();
    await Promise.all([first, second]);
    await feed.close();
    await watching;
    expect(seen).toEqual(['one', 'two']);
  });

  it('encodes a batch once for all watchers of a door', async () => {
    const { journal } = memory();
    const { feed } = feedOn(journal);
    let encodings = 0;
    const encode = (events: readonly Numbered<Fact>[]) => {
      encodings += 1;
      return events.map(({ seq, text }) => `${seq} ${text}\n`).join('');
    };
    const watchers = Array.from({ length: 5 }, async () => {
      for await (const batch of feed.watch(0, never)) return batch.as(encode);
      return '';
    });
    await new Promise((resolve) => setImmediate(resolve));
    await feed.publish([fact('x'), fact('y')], false);
    expect(await Promise.all(watchers)).toEqual(Array.from({ length: 5 }, () => '1 x\n2 y\n'));
    expect(encodings).toBe(1);
  });

  it('cuts off a watcher that does not read, and the others notice nothing', async () => {
    const { journal } = memory();
    const { feed } = feedOn(journal, { watcherLimit: 100 });
    const slow = feed.watch(0, never);
    const first = slow.next();
    const quick = take(feed.watch(0, never), 500);
    await new Promise((resolve) => setImmediate(resolve));
    for (let at = 0; at < 500; at++) await feed.publish([fact(String(at))], false);
    expect(await quick).toHaveLength(500);
    const { value } = await first;
    expect(value?.lastSeq).toBe(1);
    await expect(slow.next()).rejects.toThrow(
      'more than 100 events were waiting to be read; watch again after 1',
    );
    expect(feed.watchers).toBe(0);
  });

  it('resumes after any number with every later event once, also while events come', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 40 }),
        fc.integer({ min: 1, max: 40 }),
        async (before, during) => {
          const { journal } = memory();
          const { feed } = feedOn(journal);
          for (let at = 0; at < before; at++) await feed.publish([fact(`b${at}`)], at % 2 === 0);
          const after = Math.floor(before / 2);
          const total = before - after + during;
          const watching = take(feed.watch(after, never), total);
          for (let at = 0; at < during; at++) {
            await feed.publish([fact(`d${at}`)], false);
            if (at % 5 === 0) await new Promise((resolve) => setImmediate(resolve));
          }
          const seqs = (await watching).map(({ seq }) => seq);
          expect(seqs).toEqual(Array.from({ length: total }, (_, at) => after + at + 1));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('stops with a clear error when the journal cannot be written, and tells nobody of what was lost', async () => {
    const { journal, fail } = memory();
    const { feed, failures } = feedOn(journal);
    const seen = take(feed.watch(0, never), 1);
    await feed.publish([fact('kept')], true);
    fail(new PolypodError('internal', 'the disk is full'));
    await expect(feed.publish([fact('lost')], true)).rejects.toThrow('the disk is full');
    await expect(feed.publish([fact('later')], true)).rejects.toThrow('the disk is full');
    expect(failures).toHaveLength(1);
    expect(await seen).toEqual([{ text: 'kept', seq: 1 }]);
  });

  it('lets a watcher leave at any time', async () => {
    const { journal } = memory();
    const { feed } = feedOn(journal);
    const controller = new AbortController();
    const watching = take(feed.watch(0, controller.signal), 99);
    await feed.publish([fact('a')], false);
    controller.abort();
    await watching;
    expect(feed.watchers).toBe(0);
  });
});
