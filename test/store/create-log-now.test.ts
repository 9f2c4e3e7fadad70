import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createFeedNow, openFeed, realFiles } from '../../src/store/index.ts';
import { FaultyFiles } from './faulty-files.ts';
import { temporaryDirectory, textsOf } from './fixture.ts';

describe('createFeedNow', () => {
  it('creates a feed with mode 600 that can be appended to in the same turn and reopened', async () => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    const feed = createFeedNow(path, { sessionId: 's1', firstSeq: 7 });
    const written = feed.log.append(['{"seq":7}'], true);
    feed.log.flush();
    expect(await textsOf(realFiles, path, { from: feed.log.start, to: feed.log.end })).toEqual(['{"seq":7}']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await written;
    await feed.log.close();
    const again = await openFeed(path, { sessionId: 's1', firstSeq: 99 });
    expect([again.firstSeq, again.log.repair]).toEqual([7, undefined]);
    await again.log.close();
  });

  it('rejects an existing file and does not change it', async () => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    const feed = createFeedNow(path, { sessionId: 's1', firstSeq: 1 });
    await feed.log.close();
    const before = realFiles.readText(path);
    expect(() => createFeedNow(path, { sessionId: 's1', firstSeq: 2 })).toThrow('the file already exists');
    expect(realFiles.readText(path)).toBe(before);
  });

  it('leaves no file behind if the disk is full', () => {
    const files = new FaultyFiles();
    files.full = { fault: 'ENOSPC', freeBytes: 20 };
    const begin = () => createFeedNow('/feeds/one.jsonl', { sessionId: 's1', firstSeq: 1, files });
    expect(begin).toThrow(expect.objectContaining({ code: 'overloaded' }));
    expect(files.list('/feeds')).toEqual([]);
    files.full = undefined;
    expect(begin().firstSeq).toBe(1);
  });

  it('creates nothing if the lock was lost', () => {
    const files = new FaultyFiles();
    const guard = () => {
      throw new Error('taken over');
    };
    const begin = () => createFeedNow('/feeds/one.jsonl', { sessionId: 's1', firstSeq: 1, files, guard });
    expect(begin).toThrow('taken over');
    expect(files.operations).toEqual([]);
  });
});
