import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { beginFeed, openFeed, realFiles } from '../../src/store/index.ts';
import { FaultyFiles } from './faulty-files.ts';
import { temporaryDirectory, textsOf } from './stage.ts';

describe('a feed that is begun at once', () => {
  it('can be appended to in the same turn, for its owner only, and is opened as any other', async () => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    const feed = beginFeed(path, { sessionId: 's1', firstSeq: 7 });
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

  it('is refused where there is a file, which stays as it is', async () => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    const feed = beginFeed(path, { sessionId: 's1', firstSeq: 1 });
    await feed.log.close();
    const before = realFiles.readText(path);
    expect(() => beginFeed(path, { sessionId: 's1', firstSeq: 2 })).toThrow('there is a file already');
    expect(realFiles.readText(path)).toBe(before);
  });

  it('leaves nothing behind when there is no room for it', () => {
    const files = new FaultyFiles();
    files.full = { fault: 'ENOSPC', room: 20 };
    const begin = () => beginFeed('/feeds/one.jsonl', { sessionId: 's1', firstSeq: 1, files });
    expect(begin).toThrow(expect.objectContaining({ code: 'overloaded' }));
    expect(files.list('/feeds')).toEqual([]);
    files.full = undefined;
    expect(begin().firstSeq).toBe(1);
  });

  it('is not begun by who has lost the lock', () => {
    const files = new FaultyFiles();
    const guard = () => {
      throw new Error('taken over');
    };
    const begin = () => beginFeed('/feeds/one.jsonl', { sessionId: 's1', firstSeq: 1, files, guard });
    expect(begin).toThrow('taken over');
    expect(files.operations).toEqual([]);
  });
});
