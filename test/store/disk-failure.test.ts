import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { openLog } from '../../src/store/index.ts';
import { FaultyFiles } from './faulty-files.ts';
import { textsOf } from './fixture.ts';
import { KIND, PATH } from './sweep.ts';

const FAULTS = [
  ['ENOSPC', 'overloaded', 'the disk is full'],
  ['EIO', 'overloaded', 'input/output error'],
  ['EROFS', 'denied', 'read-only'],
] as const;

describe.each(FAULTS)('a disk that fails with %s', (fault, code, words) => {
  it('rejects pending and later appends with one clear error, and loses no earlier records', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 80 }), fc.boolean(), async (freeBytes, isStuck) => {
        const files = new FaultyFiles();
        const log = await openLog(PATH, { ...KIND, files });
        await log.append(['{"n":1}'], true);
        files.full = { fault, freeBytes };
        if (isStuck) files.truncateFault = fault;
        const outcomes = await Promise.allSettled([
          log.append(['{"n":2}', '{"n":3}'], true),
          log.append(['{"n":4}', '{"n":5}'], false),
        ]);
        const later = await Promise.allSettled([log.append(['{"n":6}'], false)]);
        const reasons = [...outcomes, ...later].map((one) => one.status === 'rejected' && one.reason);
        expect(new Set(reasons)).toEqual(new Set([log.failure]));
        expect(log.failure).toMatchObject({ code });
        expect(log.failure?.message).toMatch(/^cannot append to one\.jsonl: .*\. [A-Z].*\.$/);
        expect(log.failure?.message).toContain(words);

        files.full = undefined;
        files.truncateFault = undefined;
        await log.reopen();
        await log.append(['{"n":7}'], true);
        await log.close();
        expect(await textsOf(files, PATH)).toEqual([KIND.header, '{"n":1}', '{"n":7}']);
      }),
      { numRuns: 60 },
    );
  });

  it('cannot be reopened until the cause is fixed', async () => {
    const files = new FaultyFiles();
    const log = await openLog(PATH, { ...KIND, files });
    files.full = { fault, freeBytes: 3 };
    files.truncateFault = fault;
    await expect(log.append(['{"n":1}'], true)).rejects.toThrow(words);
    await expect(log.reopen()).rejects.toThrow(words);
    await expect(openLog(PATH, { ...KIND, files })).rejects.toThrow(words);
    await log.close();
    files.truncateFault = undefined;
    files.full = undefined;
    const again = await openLog(PATH, { ...KIND, files });
    await again.append(['{"n":2}'], true);
    expect(await textsOf(files, PATH)).toEqual([KIND.header, '{"n":2}']);
  });

  it('acknowledges nothing that a power cut could lose after a failed sync', async () => {
    const files = new FaultyFiles();
    const log = await openLog(PATH, { ...KIND, files });
    await log.append(['{"n":1}'], true);
    await log.append(['{"n":2}'], false);
    files.syncFault = fault;
    const outcomes = await Promise.allSettled([log.append(['{"n":3}'], true), log.append([], true)]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    files.syncFault = undefined;
    // The operating system marks the unwritten pages clean, so another sync is not enough.
    await log.reopen();
    await log.append(['{"n":4}'], true);
    const after = files.afterPowerCut({ torn: 0, zeros: false, names: false });
    expect(await textsOf(after, PATH)).toEqual([KIND.header, ...[1, 2, 3, 4].map((n) => `{"n":${n}}`)]);
  });

  it('fails to create a new log and leaves no file behind', async () => {
    const files = new FaultyFiles();
    files.full = { fault, freeBytes: 10 };
    await expect(openLog(PATH, { ...KIND, files })).rejects.toMatchObject({ code });
    expect(files.list('/logs')).toEqual([]);
  });
});

describe('a disk that accepts partial writes', () => {
  it('receives all bytes after several writes', async () => {
    const files = new FaultyFiles();
    files.mostBytes = 7;
    const log = await openLog(PATH, { ...KIND, files });
    await log.append(['{"n":1}', '{"text":"日本語"}'], true);
    expect(await textsOf(files, PATH)).toEqual([KIND.header, '{"n":1}', '{"text":"日本語"}']);
  });
});
