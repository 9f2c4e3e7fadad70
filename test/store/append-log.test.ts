import { appendFileSync, readFileSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLog, realFiles, sealRecords } from '../../src/store/index.ts';
import { FaultyFiles } from './faulty-files.ts';
import { linesOf, temporaryDirectory, textsOf } from './fixture.ts';
import { KIND, PATH } from './sweep.ts';

const nextTurn = () => new Promise((resolve) => void setImmediate(resolve));

async function appended(path: string, records: readonly string[]): Promise<void> {
  const log = await openLog(path, KIND);
  await log.append(records, true);
  await log.close();
}

describe('a log', () => {
  it('is created with its header and mode 600, and continues at its end when reopened', async () => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    await appended(path, ['{"n":1}']);
    await appended(path, ['{"n":2}', '{"n":3}']);
    expect(await textsOf(realFiles, path)).toEqual([KIND.header, '{"n":1}', '{"n":2}', '{"n":3}']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('writes all appends of one turn together and in order', async () => {
    const files = new FaultyFiles();
    const log = await openLog(PATH, { ...KIND, files });
    const before = files.operations.length;
    const promises = [log.append(['{"n":1}'], false), log.append(['{"n":2}', '{"n":3}'], true)];
    await Promise.resolve().then(() => promises.push(log.append(['{"n":4}'], false)));
    await Promise.all(promises);
    expect(files.operations.slice(before)).toEqual(['append', 'sync', 'synced']);
    expect(await textsOf(files, PATH, { from: log.start, to: log.end })).toEqual(
      [1, 2, 3, 4].map((n) => `{"n":${n}}`),
    );
  });

  it('syncs once for all durable appends that arrived during a sync', async () => {
    const files = new FaultyFiles();
    const log = await openLog(PATH, { ...KIND, files });
    const before = files.operations.length;
    const first = log.append(['{"n":0}'], true);
    log.flush();
    const others = Array.from({ length: 5 }, (_, n) => {
      const promise = log.append([`{"n":${n}}`], true);
      log.flush();
      return promise;
    });
    await Promise.all([first, ...others]);
    expect(files.operations.slice(before).join()).toBe(
      'append,sync,append,append,append,append,append,synced,sync,synced',
    );
  });

  it('resolves a durable append after the sync, others after the write', async () => {
    const files = new FaultyFiles();
    const log = await openLog(PATH, { ...KIND, files });
    const order: string[] = [];
    const noteOrder = (name: string) => () => order.push(`${name} after ${files.operations.at(-1)}`);
    const durable = log.append(['{"n":1}'], true).then(noteOrder('durable'));
    const written = log.append(['{"n":2}'], false).then(noteOrder('written'));
    await Promise.all([durable, written]);
    expect(order).toEqual(['written after sync', 'durable after synced']);
  });

  it('syncs with a delay at the level relaxed, and never at the level none', async () => {
    const operationsAt = async (durability: 'relaxed' | 'none') => {
      const files = new FaultyFiles();
      const log = await openLog(PATH, { ...KIND, files, durability, syncWithinMs: 5 });
      const before = files.operations.length;
      await log.append(['{"n":1}'], true);
      const answered = files.operations.slice(before);
      await new Promise((resolve) => setTimeout(resolve, 50));
      await log.append(['{"n":2}'], false);
      return [answered, files.operations.slice(before)];
    };
    expect(await operationsAt('relaxed')).toEqual([['append'], ['append', 'sync', 'synced', 'append']]);
    expect(await operationsAt('none')).toEqual([['append'], ['append', 'append']]);
  });

  it('waits for earlier appends if called without records', async () => {
    const files = new FaultyFiles();
    const log = await openLog(PATH, { ...KIND, files });
    void log.append(['{"n":1}'], false);
    await log.append([], true);
    expect(files.operations.slice(-3)).toEqual(['append', 'sync', 'synced']);
  });

  it('rejects a record that is not one line of JSON, and stays usable', async () => {
    const log = await openLog(join(temporaryDirectory(), 'one.jsonl'), KIND);
    for (const bad of ['', '1', '{}', '[1]', '{"a":\n1}', ' {"a":1}'])
      await expect(log.append([bad], false)).rejects.toMatchObject({ code: 'internal' });
    await log.append(['{"n":1}'], false);
    await log.close();
    await expect(log.append(['{"n":2}'], false)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('syncs unsynced records when it is closed', async () => {
    const files = new FaultyFiles();
    const log = await openLog(PATH, { ...KIND, files });
    const promise = log.append(['{"n":1}'], false);
    await log.close();
    await promise;
    const after = files.afterPowerCut({ torn: 0, zeros: false, names: false });
    expect(await textsOf(after, PATH)).toEqual([KIND.header, '{"n":1}']);
  });
});

describe('the end of a log', () => {
  it.each([
    ['half a line', '{"n":2,"te'],
    ['a line with a wrong sum', '{"n":2,"crc":"00000000"}\n'],
    ['several of them', '{"n":2,"crc":"00000000"}\n'.repeat(100)],
    ['zeros', '\0'.repeat(5000)],
    ['zeros and a newline', `${'\0'.repeat(100_000)}\n`],
  ])('that is %s is cut off, and the repair is reported', async (_, rest) => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    await appended(path, ['{"n":1}']);
    const { size } = statSync(path);
    appendFileSync(path, rest);
    const log = await openLog(path, KIND);
    expect(log.repair).toEqual({ kind: 'cut', from: size, to: size + rest.length });
    await log.append(['{"n":2}'], true);
    await log.close();
    expect(await textsOf(realFiles, path)).toEqual([KIND.header, '{"n":1}', '{"n":2}']);
  });

  it('that lacks only its newline is completed', async () => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    await appended(path, ['{"n":1}']);
    appendFileSync(path, '{"foreign":true}');
    const log = await openLog(path, KIND);
    expect(log.repair?.kind).toBe('completed');
    await log.append(['{"n":2}'], true);
    await log.close();
    const statuses = (await linesOf(realFiles, path)).map(({ status }) => status);
    expect(statuses).toEqual(['ok', 'ok', 'unverified', 'ok']);
  });

  it('is not changed if it is valid', async () => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    await appended(path, ['{"n":1}']);
    const before = readFileSync(path);
    const log = await openLog(path, KIND);
    await log.close();
    expect(log.repair).toBeUndefined();
    expect(readFileSync(path)).toEqual(before);
  });
});

describe('a file that is not a log of this kind', () => {
  it.each([
    ['text', 'Dear diary\n'],
    ['one line without an end', '{"type":"test","version":1}'],
    ['another header', Buffer.from(sealRecords(['{"type":"other"}'])).toString()],
    ['zeros', '\0'.repeat(300)],
  ])('is never written to: %s', async (_, content) => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    writeFileSync(path, content);
    await expect(openLog(path, KIND)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('one.jsonl does not start with the expected header'),
    });
    expect(readFileSync(path, 'utf8')).toBe(content);
  });

  it('may have the header of another program, without a checksum', async () => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    writeFileSync(path, `${KIND.header}\n{"n":1}\n`);
    await appended(path, ['{"n":2}']);
    const statuses = (await linesOf(realFiles, path)).map(({ status }) => status);
    expect(statuses).toEqual(['unverified', 'unverified', 'ok']);
  });

  it('gets a header if it is empty', async () => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    writeFileSync(path, '');
    await appended(path, ['{"n":1}']);
    expect(await textsOf(realFiles, path)).toEqual([KIND.header, '{"n":1}']);
  });
});

describe('a log that another program changes', () => {
  it.each([
    ['appends to', (path: string) => appendFileSync(path, '{"foreign":true}\n')],
    ['cuts', (path: string) => truncateSync(path, 30)],
    [
      'replaces',
      (path: string) => {
        writeFileSync(`${path}.copy`, readFileSync(path));
        renameSync(`${path}.copy`, path);
      },
    ],
    ['moves away', (path: string) => renameSync(path, `${path}.moved`)],
  ])('fails and stops writing when one %s it', async (_, change) => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    const log = await openLog(path, KIND);
    await log.append(['{"n":1}'], true);
    change(path);
    const refusal = { code: 'conflict', message: expect.stringContaining('changed by another program') };
    await expect(log.append(['{"n":2}'], true)).rejects.toMatchObject(refusal);
    await expect(log.append(['{"n":3}'], false)).rejects.toMatchObject(refusal);
    await log.close();
  });

  it('continues with the change after it is reopened', async () => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    const log = await openLog(path, KIND);
    appendFileSync(path, '{"foreign":true}\n');
    await expect(log.append(['{"n":1}'], true)).rejects.toThrow('another program');
    await log.reopen();
    await log.append(['{"n":2}'], true);
    await log.close();
    expect((await linesOf(realFiles, path)).length).toBe(3);
  });

  it('does not write if the guard throws before, and does not acknowledge if it throws after the write', async () => {
    const files = new FaultyFiles();
    let calls = 0;
    let lost = Number.POSITIVE_INFINITY;
    const guard = () => {
      calls += 1;
      if (calls >= lost) throw new Error('lost');
    };
    const log = await openLog(PATH, { ...KIND, files, guard });
    await log.append(['{"n":1}'], true);
    lost = calls + 2;
    await expect(log.append(['{"n":2}'], false)).rejects.toThrow('lost');
    await nextTurn();
    expect(files.operations.filter((name) => name === 'append')).toHaveLength(3);
    await expect(log.append(['{"n":3}'], false)).rejects.toThrow('lost');
    expect(files.operations.filter((name) => name === 'append')).toHaveLength(3);
  });
});
