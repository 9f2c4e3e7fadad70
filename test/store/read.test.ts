import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findLine, type Files, LineIndex, readTail, sealRecords } from '../../src/store/index.ts';
import { FaultyFiles } from './faulty-files.ts';
import { linesOf, textsOf } from './fixture.ts';

const PATH = '/logs/one.jsonl';
const ALL = { from: 0, to: Number.POSITIVE_INFINITY };

function holding(records: readonly string[], rest = ''): FaultyFiles {
  const files = new FaultyFiles();
  files.put(PATH, Buffer.concat([sealRecords(records), Buffer.from(rest)]));
  return files;
}

/** Records from a few bytes to several read chunks. */
const records = fc
  .array(fc.oneof(fc.nat({ max: 200 }), fc.integer({ min: 60_000, max: 300_000 })), { maxLength: 12 })
  .map((sizes) => sizes.map((size, n) => JSON.stringify({ n, text: 'é'.repeat(size) })));

describe('reading a log', () => {
  it('returns the appended records from any line on', async () => {
    await fc.assert(
      fc.asyncProperty(records, fc.nat(), async (texts, seed) => {
        const files = holding(texts);
        const lines = await linesOf(files, PATH);
        expect(lines.map((line) => line.status === 'ok' && line.text)).toEqual(texts);
        const at = seed % (texts.length + 1);
        const from = lines[at]?.offset ?? files.contentOf(PATH).length;
        expect(await textsOf(files, PATH, { from, to: Number.POSITIVE_INFINITY })).toEqual(texts.slice(at));
        expect(await textsOf(files, PATH, { from: 0, to: from })).toEqual(texts.slice(0, at));
      }),
      { numRuns: 40 },
    );
  });

  it('returns the last lines', async () => {
    await fc.assert(
      fc.asyncProperty(records, fc.nat({ max: 14 }), fc.boolean(), async (texts, count, isTorn) => {
        const files = holding(texts, isTorn ? '{"torn' : '');
        const all = await linesOf(files, PATH);
        expect(await readTail(files, PATH, count)).toEqual(count === 0 ? [] : all.slice(-count));
      }),
      { numRuns: 100 },
    );
  });

  it('does not read a long log for its last lines', async () => {
    const files = holding(manyRecords(20_000));
    const { counting, bytesRead } = countingReads(files);
    expect(await readTail(counting, PATH, 3)).toHaveLength(3);
    expect(bytesRead()).toBeLessThan(100_000);
    expect(files.contentOf(PATH).length).toBeGreaterThan(4_000_000);
  });

  it('returns an invalid line without its text', async () => {
    const files = holding(['{"a":1}', '{"b":2}', '{"c":3}'], '{"torn');
    const content = files.contentOf(PATH);
    content[30] = 0;
    files.put(PATH, content);
    expect(await linesOf(files, PATH)).toEqual([
      { status: 'ok', text: '{"a":1}', offset: 0, end: 25 },
      { status: 'corrupt', offset: 25, end: 50 },
      { status: 'ok', text: '{"c":3}', offset: 50, end: 75 },
      { status: 'torn', offset: 75, end: 81 },
    ]);
  });
});

describe('finding a line by its number', () => {
  const keyOf = (text: string): number | undefined => JSON.parse(text).seq;

  it('finds the first line with at least that number, with gaps and with lines without a number', async () => {
    const gaps = fc.array(fc.tuple(fc.integer({ min: 1, max: 3 }), fc.nat({ max: 9000 })), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(gaps, fc.array(fc.nat({ max: 200 }), { minLength: 5 }), async (steps, wanted) => {
        let seq = 0;
        const texts = steps.map(([gap, size], index) => {
          const text = 'x'.repeat(size);
          if (index % 7 === 3) return JSON.stringify({ note: text });
          seq += gap;
          return JSON.stringify({ seq, text });
        });
        const files = holding(texts);
        const lines = await linesOf(files, PATH);
        const index = new LineIndex(4096);
        for (const key of wanted) {
          const first = lines.find((line) => line.status === 'ok' && (keyOf(line.text) ?? -1) >= key);
          const offset = await findLine(files, PATH, { key, keyOf, range: ALL, index });
          expect(offset).toBe(first?.offset ?? files.contentOf(PATH).length);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('reads a small part of a long log, and less with an index', async () => {
    const files = holding(manyRecords(20_000));
    const { counting, bytesRead } = countingReads(files);
    const index = new LineIndex();
    const offset = await findLine(counting, PATH, { key: 12_345, keyOf, range: ALL, index });
    const first = bytesRead();
    expect(first).toBeLessThan(400_000);
    expect(await findLine(counting, PATH, { key: 12_345, keyOf, range: ALL, index })).toBe(offset);
    expect(bytesRead() - first).toBeLessThanOrEqual(first);
  });
});

function manyRecords(count: number): readonly string[] {
  return Array.from({ length: count }, (_, seq) => JSON.stringify({ seq, text: 'x'.repeat(200) }));
}

function countingReads(files: Files) {
  let bytes = 0;
  const counting: Files = {
    openToRead: (path) => {
      const file = files.openToRead(path);
      return {
        ...file,
        read: async (target, position) => {
          bytes += target.length;
          return file.read(target, position);
        },
      };
    },
    openToAppend: (path) => files.openToAppend(path),
    openToUpdate: (path) => files.openToUpdate(path),
    create: (path) => files.create(path),
    stat: (path) => files.stat(path),
    readText: (path) => files.readText(path),
    rename: (from, to) => files.rename(from, to),
    link: (from, to) => files.link(from, to),
    unlink: (path) => files.unlink(path),
    makeDirectory: (path) => files.makeDirectory(path),
    removeDirectory: (path) => files.removeDirectory(path),
    list: (path) => files.list(path),
    syncDirectory: (path) => files.syncDirectory(path),
  };
  return { counting, bytesRead: () => bytes };
}
