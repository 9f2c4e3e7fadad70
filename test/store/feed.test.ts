import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openFeed, realFiles } from '../../src/store/index.ts';
import { FaultyFiles } from './faulty-files.ts';
import { temporaryDirectory, textsOf } from './fixture.ts';

const PATH = '/feeds/one.jsonl';

describe('a feed', () => {
  it('starts with its header and reports its first number', async () => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    const feed = await openFeed(path, { sessionId: 's1', firstSeq: 7 });
    await feed.log.append(['{"seq":7}'], true);
    await feed.log.close();
    const again = await openFeed(path, { sessionId: 's1', firstSeq: 99 });
    expect(again.firstSeq).toBe(7);
    expect(await textsOf(realFiles, path)).toEqual([
      '{"type":"feed","version":1,"sessionId":"s1","firstSeq":7}',
      '{"seq":7}',
    ]);
    await again.log.close();
  });

  it('drops its records when it is rotated, and keeps records appended during the rotation', async () => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    const feed = await openFeed(path, { sessionId: 's1', firstSeq: 1 });
    await feed.log.append(['{"seq":1}'], true);
    void feed.log.append(['{"seq":2}'], false);
    const rotated = feed.rotate(3);
    const meanwhile: Promise<void>[] = [];
    for (let turn = 0; turn < 20; turn += 1) {
      meanwhile.push(feed.log.append([`{"turn":${turn}}`], turn % 2 === 0));
      await new Promise((resolve) => void setImmediate(resolve));
    }
    await Promise.all([rotated, ...meanwhile]);
    expect(feed.firstSeq).toBe(3);
    expect(await textsOf(realFiles, path, { from: feed.log.start, to: feed.log.end })).toEqual(
      Array.from({ length: 20 }, (_, turn) => `{"turn":${turn}}`),
    );
    await feed.log.close();
  });

  it('is the complete old file or the new one after a power cut at any point of a rotation', async () => {
    const writeUntilCut = async (files: FaultyFiles, cutAfter: number): Promise<boolean> => {
      const feed = await openFeed(PATH, { sessionId: 's1', firstSeq: 1, files });
      await feed.log.append(['{"seq":1}', '{"seq":2}'], true);
      files.cutAt = files.operations.length + cutAfter;
      try {
        await feed.rotate(3);
        await feed.log.append(['{"seq":3}'], true);
        return true;
      } catch {
        return false;
      }
    };
    const seen = new Set<string>();
    for (let cut = 0, isOver = false; !isOver; cut += 1) {
      for (const names of [true, false]) {
        const files = new FaultyFiles();
        isOver = await writeUntilCut(files, cut);
        const after = files.afterPowerCut({ torn: 0.5, zeros: false, names });
        const feed = await openFeed(PATH, { sessionId: 's1', firstSeq: 99, files: after });
        const texts = await textsOf(after, PATH, { from: feed.log.start, to: feed.log.end });
        seen.add(`${feed.firstSeq}: ${texts.join()}`);
      }
    }
    expect([...seen]).toEqual(['1: {"seq":1},{"seq":2}', '3: ', '3: {"seq":3}']);
  });

  it('keeps using the old file if the disk is full', async () => {
    const files = new FaultyFiles();
    const feed = await openFeed(PATH, { sessionId: 's1', firstSeq: 1, files });
    await feed.log.append(['{"seq":1}'], true);
    files.full = { fault: 'ENOSPC', freeBytes: 20 };
    await expect(feed.rotate(2)).rejects.toMatchObject({ code: 'overloaded' });
    files.full = undefined;
    await feed.log.append(['{"seq":2}'], true);
    expect(feed.firstSeq).toBe(1);
    expect(await textsOf(files, PATH, { from: feed.log.start, to: feed.log.end })).toEqual([
      '{"seq":1}',
      '{"seq":2}',
    ]);
  });

  it.each([
    ['of another session', '{"type":"feed","version":1,"sessionId":"s2","firstSeq":1}', 'does not start'],
    ['of a newer version', '{"type":"feed","version":2,"sessionId":"s1"}', 'newer Polypod'],
    ['without a first number', '{"type":"feed","version":1,"sessionId":"s1"}', 'does not start'],
  ])('%s is rejected and not modified', async (_, header, words) => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    writeFileSync(path, `${header}\n`);
    await expect(openFeed(path, { sessionId: 's1', firstSeq: 1 })).rejects.toThrow(words);
    expect(readFileSync(path, 'utf8')).toBe(`${header}\n`);
  });
});
