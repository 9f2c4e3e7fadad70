import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FeedRecord, openSegments, type Segments } from '../../../src/pod/feed/index.ts';
import { type Files, memoryFiles, type OpenFile, realFiles, sealRecords } from '../../../src/store/index.ts';
import { FaultyFiles, type Survival } from '../../store/faulty-files.ts';
import { temporaryDirectory } from '../../store/fixture.ts';

const SMALL = { sessionId: 's1', segmentBytes: 600, segments: 3 };
const HOME = '/feed';

/** An event of about this size; the mark distinguishes two that used the same number one after the other. */
function record(seq: number, size = 0, mark = 0): FeedRecord {
  return { seq, text: JSON.stringify({ seq, type: 'text', mark, text: 'ä'.repeat(size / 2) }) };
}

function records(from: number, to: number, size = 0): readonly FeedRecord[] {
  return Array.from({ length: to - from + 1 }, (_, index) => record(from + index, size));
}

const textsOf = (some: readonly FeedRecord[]) => some.map(({ text }) => text);

async function all(chunks: AsyncIterable<readonly string[]>): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const some of chunks) texts.push(...some);
  return texts;
}

function memory(): Files {
  const files = memoryFiles();
  files.makeDirectory('/home');
  return files;
}

describe('a feed on disk', () => {
  it('writes nothing before its first event, then files for its owner only', async () => {
    const directory = join(temporaryDirectory(), 'feed');
    const idle = await openSegments(directory, { ...SMALL, files: realFiles });
    expect([idle.firstSeq, idle.lastSeq, idle.isClean]).toEqual([1, 0, false]);
    expect([await all(idle.read(0)), await idle.tail(5), await idle.has(1)]).toEqual([[], [], false]);
    await idle.forget(7);
    expect([idle.firstSeq, idle.lastSeq]).toEqual([7, 6]);
    await idle.close();
    expect(readdirSync(join(directory, '..'))).toEqual([]);

    const feed = await openSegments(directory, { ...SMALL, files: realFiles });
    feed.append(records(1, 3));
    expect(readdirSync(directory)).toEqual(['0000000000000001.jsonl']);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, '0000000000000001.jsonl')).mode & 0o777).toBe(0o600);
    await feed.close();
    expect(() => feed.append(records(4, 4))).toThrow('is closed');
  });

  it('is clean after a close and not after a kill; neither loses events', async () => {
    const directory = join(temporaryDirectory(), 'feed');
    const open = () => openSegments(directory, { ...SMALL, files: realFiles });
    const first = await open();
    first.append(records(1, 30));
    await first.close();
    const second = await open();
    expect([second.isClean, second.lastSeq]).toEqual([true, 30]);
    second.append(records(31, 40));
    expect(second.isClean).toBe(false);
    second.abandon();
    const third = await open();
    expect([third.isClean, third.lastSeq]).toEqual([false, 40]);
    const expected = textsOf(records(third.firstSeq, 40));
    expect(await all(third.read(third.firstSeq - 1))).toEqual(expected);
    expect(await third.tail(12)).toEqual(expected.slice(-12));
    expect(await third.tail(1000)).toEqual(expected);
    expect(await third.tail(0)).toEqual([]);
    await third.close();
  });

  it('starts a new file when one is full, and keeps the configured number', async () => {
    const files = memory();
    const feed = await openSegments('/home/feed', { ...SMALL, files });
    const firsts = new Set<number>();
    for (let seq = 1; seq <= 100; seq += 1) {
      feed.append([record(seq)]);
      firsts.add(feed.firstSeq);
      expect(await all(feed.read(feed.firstSeq - 1))).toEqual(textsOf(records(feed.firstSeq, seq)));
    }
    expect(files.list('/home/feed').length).toBe(SMALL.segments);
    expect(firsts.size).toBeGreaterThan(5);
    const sizes = files.list('/home/feed').map((name) => files.stat(`/home/feed/${name}`)?.size ?? 0);
    for (const size of sizes) expect(size).toBeLessThan(SMALL.segmentBytes + 100);
    await expect(all(feed.read(feed.firstSeq - 2))).rejects.toMatchObject({ code: 'not-found' });
    expect(await feed.has(feed.firstSeq - 1)).toBe(false);
  });

  it('lets a reader finish its current file and then reports removed events, without skipping any', async () => {
    const feed = await openSegments('/home/feed', { ...SMALL, files: memory() });
    feed.append(records(1, 8));
    const reader = feed.read(0);
    const early = [...((await reader.next()).value ?? [])];
    const late = feed.read(0);
    for (let seq = 9; seq <= 100; seq += 1) feed.append([record(seq)]);
    for await (const some of reader) early.push(...some);
    // What was written when it started, completely.
    expect(early).toEqual(textsOf(records(1, 8)));
    await expect(all(late)).rejects.toMatchObject({
      code: 'not-found',
      message: expect.stringContaining('no longer available'),
    });

    const across = feed.read(feed.firstSeq - 1);
    const found = [...((await across.next()).value ?? [])];
    const first = feed.firstSeq;
    for (let seq = 101; seq <= 200; seq += 1) feed.append([record(seq)]);
    const outcome = await all(across).then(
      () => 'the end',
      (error: unknown) => error,
    );
    expect(outcome).toMatchObject({ code: 'not-found' });
    expect(found).toEqual(textsOf(records(first, first + found.length - 1)));
  });

  it('reads only the end of a closed feed of 100,000 events, and writes nothing', async () => {
    const files = memory();
    const options = { sessionId: 's1', segments: 4 };
    const writer = await openSegments('/home/feed', { ...options, files });
    for (let seq = 1; seq <= 100_000; seq += 500) writer.append(records(seq, seq + 499, 100));
    await writer.close();
    const counted = countingReads(files);
    const feed = await openSegments('/home/feed', { ...options, files: counted.files });
    expect([feed.isClean, feed.firstSeq, feed.lastSeq]).toEqual([true, 1, 100_000]);
    expect(await feed.tail(3)).toEqual(textsOf(records(99_998, 100_000, 100)));
    // A few reads of 64 KiB at the end and one for the header, in a file of at most 8 MiB, and no other file.
    expect(counted.bytes()).toBeLessThan(512 * 1024);
    expect(counted.paths()).toEqual([
      files
        .list('/home/feed')
        .map((name) => `/home/feed/${name}`)
        .at(-1),
    ]);
    expect(counted.writes()).toBe(0);
    expect(await feed.has(54_321)).toBe(true);
    await feed.close();
    expect(counted.writes()).toBe(0);
    const everything = await openSegments('/home/feed', { ...options, files });
    expect(await all(everything.read(54_321))).toEqual(textsOf(records(54_322, 100_000, 100)));
  });

  it.each([
    ['ENOSPC', 'overloaded', 'the disk is full'],
    ['EROFS', 'denied', 'read-only'],
    ['EIO', 'overloaded', 'input/output error'],
  ] as const)('reports the reason immediately when the disk fails with %s', async (fault, code, words) => {
    for (const freeBytes of [0, 10, 150]) {
      for (const before of [0, 3, 7]) {
        const faulty = new FaultyFiles();
        const files = faulty;
        const feed = await openSegments(HOME, { ...SMALL, files });
        feed.append(records(1, before));
        faulty.full = { fault, freeBytes };
        const attempt = () => feed.append(records(before + 1, before + 20));
        expect(attempt).toThrow(words);
        expect(attempt).toThrow(expect.objectContaining({ code }));
        expect(feed.lastSeq).toBe(before);
        feed.abandon();
        faulty.full = undefined;
        const again = await openSegments(HOME, { ...SMALL, files });
        expect(await all(again.read(0))).toEqual(textsOf(records(1, before)));
        again.append(records(before + 1, before + 20));
        expect(await all(again.read(0))).toEqual(textsOf(records(1, before + 20)));
      }
    }
  });

  it('stops at a damaged line with an error that names the file and the position', async () => {
    const files = memory();
    const feed = await openSegments('/home/feed', { sessionId: 's1', files });
    feed.append(records(1, 9));
    await feed.close();
    const path = '/home/feed/0000000000000001.jsonl';
    const offset = files.readText(path).indexOf('{"seq":5');
    files.openToUpdate(path).overwrite(Buffer.from('X'), offset + 12);
    const damaged = await openSegments('/home/feed', { sessionId: 's1', files });
    for (const after of [0, 3, 4])
      await expect(all(damaged.read(after))).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining(`0000000000000001.jsonl is damaged at byte ${offset}`),
      });
    expect(await all(damaged.read(6))).toEqual(textsOf(records(7, 9)));
    expect(await damaged.tail(4)).toEqual(textsOf(records(6, 9)));
    await expect(damaged.tail(5)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('sets aside a last file with a damaged header, and is then not clean', async () => {
    const files = memory();
    const feed = await openSegments('/home/feed', { ...SMALL, files });
    feed.append(records(1, 9, 80));
    // Closed and opened again, so that the file before the damaged one ends with a close record.
    await feed.close();
    const again = await openSegments('/home/feed', { ...SMALL, files });
    again.append(records(10, 12));
    await again.close();
    const last = files.list('/home/feed').toSorted().at(-1) ?? '';
    files.openToUpdate(`/home/feed/${last}`).overwrite(Buffer.from('X'), 12);
    const damaged = await openSegments('/home/feed', { ...SMALL, files });
    expect([last, damaged.lastSeq, damaged.isClean]).toEqual(['0000000000000010.jsonl', 9, false]);
    expect(await all(damaged.read(damaged.firstSeq - 1))).toEqual(textsOf(records(damaged.firstSeq, 9, 80)));
    expect(files.list('/home/feed')).toContain(`${last}.damaged`);
    damaged.append(records(20, 21));
    expect(await all(damaged.read(9))).toEqual(textsOf(records(20, 21)));
  });

  it('rejects events without increasing numbers at their start, and writes none of them', async () => {
    const feed = await openSegments('/home/feed', { ...SMALL, files: memory() });
    feed.append(records(1, 3));
    const wrong: readonly (readonly FeedRecord[])[] = [
      [record(3)],
      [record(4), record(4)],
      [{ seq: 4, text: '{"type":"text","seq":4}' }],
      [{ seq: 4, text: '{"seq":5,"type":"text"}' }],
      [{ seq: 4, text: '{"seq":4,"type":"rest"}' }],
      [{ seq: 4, text: '{"seq":4,"type":\n"text"}' }],
    ];
    for (const some of wrong)
      expect(() => feed.append(some)).toThrow(expect.objectContaining({ code: 'internal' }));
    feed.append([record(4), record(9)]);
    expect(await all(feed.read(0))).toEqual(textsOf([...records(1, 4), record(9)]));
    expect(await Promise.all([3, 4, 5, 8, 9, 10].map((seq) => feed.has(seq)))).toEqual([
      true,
      true,
      false,
      false,
      true,
      false,
    ]);
  });

  it('stops writing after its lock is lost', async () => {
    let isOurs = true;
    const guard = () => {
      if (!isOurs) throw new Error('taken over');
    };
    const feed = await openSegments('/home/feed', { ...SMALL, files: memory(), guard });
    feed.append(records(1, 3));
    isOurs = false;
    expect(() => feed.append(records(4, 4))).toThrow('taken over');
    expect(await all(feed.read(0))).toEqual(textsOf(records(1, 3)));
    await feed.close();
  });

  it('of another session or a newer version is rejected and not changed', async () => {
    const files = memory();
    files.makeDirectory('/home/feed');
    const path = '/home/feed/0000000000000001.jsonl';
    for (const header of [
      '{"type":"feed","version":1,"sessionId":"s2","firstSeq":1}',
      '{"type":"feed","version":2,"sessionId":"s1","firstSeq":1}',
    ]) {
      const file = files.create(path);
      file.append(sealRecords([header]));
      const before = files.readText(path);
      await expect(openSegments('/home/feed', { ...SMALL, files })).rejects.toMatchObject({
        code: 'conflict',
      });
      expect(files.readText(path)).toBe(before);
    }
  });

  it('removes the events before a gap that a power cut left between two files', async () => {
    const files = memory();
    const feed = await openSegments('/home/feed', { ...SMALL, files });
    for (let seq = 1; seq <= 20; seq += 1) feed.append([record(seq)]);
    feed.abandon();
    const [first = '', second = ''] = files.list('/home/feed').toSorted();
    const text = files.readText(`/home/feed/${first}`);
    // At the end of a line, so that nothing in this file shows that a part is missing.
    files.openToUpdate(`/home/feed/${first}`).truncate(text.lastIndexOf('{"seq":'));
    const again = await openSegments('/home/feed', { ...SMALL, files });
    expect(again.firstSeq).toBe(Number.parseInt(second, 10));
    expect(await all(again.read(again.firstSeq - 1))).toEqual(textsOf(records(again.firstSeq, 20)));
    await expect(all(again.read(0))).rejects.toMatchObject({ code: 'not-found' });
  });
});

describe('a feed on disk under random operations and power cuts', () => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('append'),
        count: fc.integer({ min: 1, max: 12 }),
        size: fc.nat(80),
        jump: fc.constantFrom(0, 0, 0, 1, 40),
      } as const),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('close', 'kill') }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('cut'), back: fc.nat(15) } as const) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('forget'), jump: fc.nat(3) } as const) },
  );
  const survival = fc.record({
    torn: fc.constantFrom(0, 0.3, 0.5, 0.9, 1),
    zeros: fc.boolean(),
    names: fc.boolean(),
  });
  /** The power is cut after this many operations of the step; undefined: not at all. */
  const power = fc.option(fc.record({ after: fc.nat(14), survival }), { nil: undefined, freq: 4 });

  it('equals an array, and after a power cut a contiguous part of it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(step, power), { minLength: 1, maxLength: 25 }), async (life) => {
        const fixture = await PowerCutFixture.begin();
        for (const [next, cut] of life) {
          if (cut === undefined) await fixture.take(next);
          else await fixture.takeUntilPowerCut(next, cut);
          await fixture.check();
        }
      }),
      { numRuns: Number(process.env.POLYPOD_SWEEP ?? 200) },
    );
  });

  it('has at most one file too many after two power cuts in a row, wherever they hit', async () => {
    // Full at once, so the next event starts a new file.
    const full: Step = { do: 'append', count: 1, size: SMALL.segmentBytes, jump: 0 };
    const survival: Survival = { torn: 1, zeros: false, names: true };
    for (let first = 0; first <= 6; first += 1) {
      for (let second = 0; second <= 6; second += 1) {
        const fixture = await PowerCutFixture.begin();
        for (let count = 0; count < SMALL.segments; count += 1) await fixture.take(full);
        await fixture.takeUntilPowerCut(full, { after: first, survival });
        await fixture.check();
        await fixture.takeUntilPowerCut({ do: 'forget', jump: 0 }, { after: second, survival });
        await fixture.check();
      }
    }
  });
});

type Step =
  | { readonly do: 'append'; readonly count: number; readonly size: number; readonly jump: number }
  | { readonly do: 'close' }
  | { readonly do: 'kill' }
  | { readonly do: 'cut'; readonly back: number }
  | { readonly do: 'forget'; readonly jump: number };

/** A feed on a disk with simulated power cuts, and the array that it should equal. */
class PowerCutFixture {
  #faulty: FaultyFiles;
  #feed: Segments;
  /** All events that were appended and neither removed nor lost. */
  #events: readonly FeedRecord[] = [];
  #nextSeq = 1;
  /** The last number that may have been published. */
  #publishedSeq = 0;
  #marks = 0;

  static async begin(): Promise<PowerCutFixture> {
    const faulty = new FaultyFiles();
    return new PowerCutFixture(faulty, await openSegments(HOME, { ...SMALL, files: faulty }));
  }

  constructor(faulty: FaultyFiles, feed: Segments) {
    this.#faulty = faulty;
    this.#feed = feed;
  }

  async take(next: Step): Promise<void> {
    switch (next.do) {
      case 'append':
        return await this.#append(next);
      case 'close':
        return await this.#close();
      case 'kill':
        return await this.#reopen();
      case 'cut':
        return await this.#cut(next.back);
      case 'forget':
        return await this.#forget(this.#nextSeq + next.jump);
    }
  }

  async takeUntilPowerCut(
    next: Step,
    { after, survival }: { readonly after: number; readonly survival: Survival },
  ): Promise<void> {
    const before = this.#events;
    const expected = before.filter(({ seq }) => seq >= this.#feed.firstSeq);
    const wasClean = this.#feed.isClean;
    this.#faulty.cutAt = this.#faulty.operations.length + after;
    const isDone = await this.take(next).then(
      () => true,
      () => false,
    );
    const possible = isDone || next.do === 'append' ? this.#events : before;
    this.#feed.abandon();
    this.#faulty = this.#faulty.afterPowerCut(survival);
    this.#feed = await openSegments(HOME, { ...SMALL, files: this.#faulty });
    const { firstSeq, lastSeq, isClean } = this.#feed;
    const found = await all(this.#feed.read(firstSeq - 1));
    // No gap, nothing foreign, no duplicates: one contiguous part of the events.
    this.#events = possible.filter(({ seq }) => seq >= firstSeq && seq <= lastSeq);
    expect(found).toEqual(textsOf(this.#events));
    if (isClean) expect(lastSeq).toBeGreaterThanOrEqual(this.#publishedSeq);
    // It is not clean, so the opener knows that events may be lost.
    else this.#publishedSeq = Math.min(this.#publishedSeq, lastSeq);
    if (wasClean && next.do === 'kill') expect([isClean, found]).toEqual([true, textsOf(expected)]);
    // As the pod does: a number that may have been published is never reused.
    this.#nextSeq = Math.max(this.#nextSeq, lastSeq + 1);
  }

  async check(): Promise<void> {
    const { firstSeq, lastSeq } = this.#feed;
    const expected = this.#events.filter(({ seq }) => seq >= firstSeq);
    expect(await all(this.#feed.read(firstSeq - 1))).toEqual(textsOf(expected));
    expect(lastSeq).toBeGreaterThanOrEqual(expected.at(-1)?.seq ?? firstSeq - 1);
    expect(await this.#feed.tail(7)).toEqual(textsOf(expected.slice(-7)));
    for (const after of [firstSeq, Math.floor((firstSeq + lastSeq) / 2), lastSeq - 1, lastSeq]) {
      if (after < firstSeq - 1) continue;
      expect(await all(this.#feed.read(after))).toEqual(textsOf(expected.filter(({ seq }) => seq > after)));
      expect(await this.#feed.has(after)).toBe(expected.some(({ seq }) => seq === after));
    }
    if (firstSeq > 1)
      await expect(all(this.#feed.read(firstSeq - 2))).rejects.toMatchObject({ code: 'not-found' });
    // One more if the power was cut between creating the newest and removing the oldest, however often that happens.
    expect(this.#faulty.list(HOME).length).toBeLessThanOrEqual(SMALL.segments + 1);
  }

  async #append({ count, size, jump }: Step & { do: 'append' }): Promise<void> {
    const from = this.#nextSeq + jump;
    const some = Array.from({ length: count }, (_, index) => record(from + index, size, (this.#marks += 1)));
    // Recorded before the write: after a power cut in the middle, it may exist.
    this.#events = [...this.#events, ...some];
    this.#nextSeq = from + count;
    this.#feed.append(some);
    expect(this.#feed.lastSeq).toBe(this.#nextSeq - 1);
    await this.#feed.marked();
    this.#publishedSeq = this.#nextSeq - 1;
  }

  async #close(): Promise<void> {
    await this.#feed.close();
    const { firstSeq, lastSeq } = this.#feed;
    const operations = this.#faulty.operations.length;
    const hasFiles = this.#faulty.list(HOME).length > 0;
    await this.#reopen();
    expect(this.#faulty.operations.length).toBe(operations);
    expect(this.#feed.isClean).toBe(hasFiles);
    if (hasFiles) expect([this.#feed.firstSeq, this.#feed.lastSeq]).toEqual([firstSeq, lastSeq]);
  }

  async #reopen(): Promise<void> {
    this.#feed.abandon();
    this.#feed = await openSegments(HOME, { ...SMALL, files: this.#faulty });
  }

  async #forget(nextSeq: number): Promise<void> {
    await this.#feed.forget(nextSeq);
    expect([this.#feed.firstSeq, this.#feed.lastSeq]).toEqual([nextSeq, nextSeq - 1]);
    this.#events = [];
    this.#nextSeq = nextSeq;
  }

  async #cut(back: number): Promise<void> {
    await this.#reopen();
    const to = Math.max(0, this.#feed.lastSeq - back);
    // Removed events were never published.
    this.#publishedSeq = Math.min(
      this.#publishedSeq,
      this.#events.findLast(({ seq }) => seq <= to)?.seq ?? 0,
    );
    await this.#feed.cutAfter(to);
    this.#events = this.#events.filter(({ seq }) => seq <= to);
    this.#nextSeq = this.#feed.lastSeq + 1;
  }
}

/** The files, and how much is read from and written to each. */
function countingReads(files: Files) {
  let [bytes, writes] = [0, 0];
  const paths = new Set<string>();
  const counted = (path: string, file: OpenFile): OpenFile => ({
    ...file,
    read: async (target, position) => {
      const count = await file.read(target, position);
      bytes += count;
      paths.add(path);
      return count;
    },
    append: (some) => {
      writes += 1;
      return file.append(some);
    },
    truncate: (size) => {
      writes += 1;
      file.truncate(size);
    },
  });
  const counting: Files = {
    ...files,
    openToRead: (path) => counted(path, files.openToRead(path)),
    openToAppend: (path) => counted(path, files.openToAppend(path)),
    openToUpdate: (path) => counted(path, files.openToUpdate(path)),
    create: (path) => {
      writes += 1;
      return counted(path, files.create(path));
    },
    unlink: (path) => {
      writes += 1;
      files.unlink(path);
    },
  };
  return { files: counting, bytes: () => bytes, writes: () => writes, paths: () => [...paths] };
}
