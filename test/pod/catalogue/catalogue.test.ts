import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { Catalogue, type Row } from '../../../src/pod/catalogue/index.ts';
import { sealRecords } from '../../../src/store/index.ts';
import { FaultyFiles } from '../../store/faulty-files.ts';
import { temporaryDirectory } from '../../store/fixture.ts';
import { at, HEADER, idsOf, opened, readAgain, rowOf, written } from './catalogue-fixture.ts';

/** A row with all fields. */
const FULL: Row = rowOf('full', {
  name: '全部',
  parentId: 'parent',
  model: 'anthropic/claude-sonnet-4-5',
  state: 'waiting',
  archived: true,
  firstPrompt: 'Fix the "build"\nplease \u2028',
  lastText: 'Done.',
  totals: { ...rowOf('').totals, cost: 0.25 },
  lastRun: { runId: 'r1', status: 'finished', endedAt: at(2) },
  approvals: [{ approvalId: 'a1', tool: 'bash', title: 'rm -rf build', requestedAt: at(1), deadline: at(9) }],
  queued: 2,
  tasks: [{ taskId: 't1', runId: 'r1', status: 'completed', at: at(1) }],
  key: 'k1',
});

function newPath(): string {
  return join(temporaryDirectory(), 'catalogue.jsonl');
}

/** The records of the file, without the empty lines between writes. */
function recordsIn(path: string): readonly string[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/,"crc":"[0-9a-f]{8}"\}$/, '}'));
}

async function* each<T>(values: readonly T[]): AsyncGenerator<T> {
  for (const value of values) yield await Promise.resolve(value);
}

describe('a catalogue', () => {
  it('is empty and creates no file before the first row', async () => {
    const path = newPath();
    const catalogue = await opened(path);
    expect(catalogue.list()).toEqual([]);
    await catalogue.refresh();
    await catalogue.close();
    expect(readdirSync(join(path, '..'))).toEqual([]);
  });

  it('writes a change that is not urgent with the next urgent one, after a short time, or when it is closed', async () => {
    const path = newPath();
    const catalogue = await opened(path);
    catalogue.put(rowOf('a'));
    await written(catalogue);
    catalogue.put(rowOf('a', { queued: 1 }), false);
    expect(catalogue.get('a')?.queued).toBe(1);
    catalogue.put(rowOf('b'));
    await written(catalogue);
    expect(await readAgain(path)).toMatchObject([{ id: 'a', queued: 1 }, { id: 'b' }]);

    catalogue.put(rowOf('a', { queued: 2 }), false);
    await expect.poll(async () => (await readAgain(path))[0]?.queued).toBe(2);

    catalogue.put(rowOf('a', { queued: 3 }), false);
    await catalogue.close();
    expect((await readAgain(path))[0]?.queued).toBe(3);
  });

  it('does not recreate a removed file while it is being closed', async () => {
    const path = newPath();
    const catalogue = await opened(path);
    catalogue.put(FULL);
    await written(catalogue);
    rmSync(path);
    // In either order: a program that exits removes its directory at the same time.
    catalogue.put(rowOf('late'));
    catalogue.beginClose();
    catalogue.put(rowOf('later'));
    await catalogue.close();
    expect(readdirSync(join(path, '..'))).toEqual([]);
  });

  it('answers from memory and returns the same rows after a reopen', async () => {
    const path = newPath();
    const catalogue = await opened(path);
    catalogue.put(FULL);
    catalogue.put(rowOf('gone'));
    expect(catalogue.get('full')).toEqual(FULL);
    await catalogue.close();
    const again = await opened(path);
    again.remove('gone');
    again.put(rowOf('plain'));
    expect(again.get('gone')).toBeUndefined();
    await again.close();
    expect(await readAgain(path)).toEqual([FULL, rowOf('plain')]);
    expect(readdirSync(join(path, '..'))).toEqual(['catalogue.jsonl']);
  });

  it('writes each row that changes in one event loop turn once, in its last state', async () => {
    const path = newPath();
    const catalogue = await opened(path);
    for (let queued = 0; queued < 100; queued += 1) catalogue.put(rowOf('one', { queued }));
    catalogue.put(rowOf('two'));
    catalogue.remove('two');
    await catalogue.close();
    expect(recordsIn(path)).toEqual([
      HEADER,
      JSON.stringify({ type: 'row', row: rowOf('one', { queued: 99 }) }),
      '{"type":"removed","id":"two"}',
    ]);
  });

  it('lists the most recently changed rows first, each row on one page', async () => {
    const catalogue = await opened(newPath());
    // Five per minute: within a minute the ids determine the order.
    for (let n = 0; n < 50; n += 1) catalogue.put(rowOf(`id-${10 + n}`, { updatedAt: at(n % 10) }));
    const seen: Row[] = [];
    for (let page = catalogue.list({ limit: 7 }); page.length > 0; ) {
      seen.push(...page);
      const before = page.at(-1);
      page = before === undefined ? [] : catalogue.list({ limit: 7, before });
    }
    expect(seen).toEqual(catalogue.list());
    expect(idsOf(seen).slice(0, 6)).toEqual(['id-59', 'id-49', 'id-39', 'id-29', 'id-19', 'id-58']);
    expect(new Set(idsOf(seen)).size).toBe(50);
  });

  it.each([
    [{ cwd: '/projects' }, ['d', 'b', 'a']],
    [{ state: 'running' }, ['c', 'b']],
    [{ archived: false }, ['c', 'b', 'a']],
    [{ archived: true }, ['d']],
    [{ parentId: 'a' }, ['d', 'c']],
    [{ parentId: 'a', cwd: '/projects', limit: 5 }, ['d']],
    [{ limit: 0 }, []],
  ] as const)('lists by %j', async (options, expected) => {
    const catalogue = await opened(newPath());
    catalogue.put(rowOf('a', { updatedAt: at(1) }));
    catalogue.put(rowOf('b', { updatedAt: at(2), state: 'running' }));
    catalogue.put(rowOf('c', { updatedAt: at(3), state: 'running', cwd: '/else', parentId: 'a' }));
    catalogue.put(rowOf('d', { updatedAt: at(4), archived: true, parentId: 'a' }));
    expect(idsOf(catalogue.list(options))).toEqual(expected);
  });

  it('finds a session by its task, its key and its name', async () => {
    const catalogue = await opened(newPath());
    catalogue.put(FULL);
    catalogue.put(rowOf('later', { key: 'k1', name: 'twin', createdAt: at(5), updatedAt: at(9) }));
    catalogue.put(rowOf('other', { name: 'twin' }));
    expect(catalogue.byTask('t1')?.id).toBe('full');
    expect(catalogue.byTask('t2')).toBeUndefined();
    expect(catalogue.byKey('k1')?.id).toBe('full');
    expect(catalogue.byKey('k2')).toBeUndefined();
    expect(idsOf(catalogue.byName('twin'))).toEqual(['later', 'other']);
    expect(catalogue.byName('Twin')).toEqual([]);
  });

  it('lists the approvals of all sessions, oldest first', async () => {
    const catalogue = await opened(newPath());
    const approval = (approvalId: string, minute: number) => ({
      approvalId,
      tool: 'bash',
      title: approvalId,
      requestedAt: at(minute),
    });
    catalogue.put(rowOf('one', { approvals: [approval('c', 3), approval('a', 1)] }));
    catalogue.put(rowOf('two', { approvals: [approval('b', 2)] }));
    const pending = catalogue.pendingApprovals();
    expect(pending.map(({ row, approval: { approvalId } }) => [row.id, approvalId])).toEqual([
      ['one', 'a'],
      ['two', 'b'],
      ['one', 'c'],
    ]);
  });

  it('loads the changes of another process on refresh', async () => {
    const path = newPath();
    const [first, second] = [await opened(path), await opened(path)];
    first.put(rowOf('mine'));
    second.put(rowOf('theirs'));
    await second.close();
    expect(first.get('theirs')).toBeUndefined();
    await first.refresh();
    expect(idsOf(first.list())).toEqual(['theirs', 'mine']);
  });

  it('prefers its own pending change to one that another process wrote', async () => {
    const path = newPath();
    const [first, second] = [await opened(path), await opened(path)];
    second.put(rowOf('one', { name: 'theirs' }));
    await second.close();
    first.put(rowOf('one', { name: 'mine' }));
    await first.refresh();
    expect(first.get('one')?.name).toBe('mine');
    await first.close();
    expect((await readAgain(path))[0]?.name).toBe('mine');
  });

  it('writes all rows again if the file was removed', async () => {
    const path = newPath();
    const catalogue = await opened(path);
    catalogue.put(rowOf('a'));
    await written(catalogue);
    rmSync(path);
    catalogue.put(rowOf('b'));
    await catalogue.close();
    expect(idsOf(await readAgain(path))).toEqual(['a', 'b']);
  });
});

describe('a damaged catalogue', () => {
  async function threeRows(): Promise<string> {
    const path = newPath();
    const catalogue = await opened(path);
    for (const id of ['a', 'b', 'c']) catalogue.put(rowOf(id, { name: `name of ${id}` }));
    await catalogue.close();
    return path;
  }

  it('skips and counts a line with a flipped bit at any position', async () => {
    const path = await threeRows();
    const bytes = readFileSync(path);
    const [from, to] = [bytes.indexOf('{"type":"row"'), bytes.indexOf('\n', bytes.indexOf('name of a'))];
    expect(to - from).toBeGreaterThan(300);
    for (let index = from; index < to; index += 1) {
      const damaged = Buffer.from(bytes);
      damaged[index] = (damaged[index] ?? 0) ^ 4;
      writeFileSync(path, damaged);
      const catalogue = await Catalogue.open(path);
      expect([index, idsOf(catalogue.list()), catalogue.badLines]).toEqual([index, ['c', 'b'], 1]);
      await catalogue.close();
    }
  });

  it('loses no row to a line that a process left unfinished', async () => {
    const path = await threeRows();
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.subarray(0, -40));
    const catalogue = await opened(path);
    expect(idsOf(catalogue.list())).toEqual(['b', 'a']);
    catalogue.put(rowOf('d'));
    await catalogue.close();
    const again = await opened(path);
    expect(idsOf(again.list())).toEqual(['d', 'b', 'a']);
    expect(again.badLines).toBe(1);
  });

  it('waits for the rest of a line that is being written', async () => {
    const path = await threeRows();
    const line = Buffer.from(sealRecords([JSON.stringify({ type: 'row', row: rowOf('d') })]));
    appendFileSync(path, line.subarray(0, 100));
    const catalogue = await opened(path);
    expect(catalogue.get('d')).toBeUndefined();
    appendFileSync(path, line.subarray(100));
    await catalogue.refresh();
    expect(catalogue.get('d')).toEqual(rowOf('d'));
    expect(catalogue.badLines).toBe(0);
  });

  it('is readable without its header', async () => {
    const path = await threeRows();
    const bytes = readFileSync(path);
    bytes[3] = 0;
    writeFileSync(path, bytes);
    const catalogue = await opened(path);
    expect([catalogue.size, catalogue.badLines]).toEqual([3, 1]);
  });

  it.each([
    ['without a field that every row has', { ...rowOf('x'), cwd: undefined }],
    ['with a field of another shape', { ...rowOf('x'), queued: '3' }],
    ['with an unknown state', { ...rowOf('x'), state: 'asleep' }],
    ['with an approval that is none', { ...rowOf('x'), approvals: [{ tool: 'bash' }] }],
  ])('skips and counts a row %s', async (_, row) => {
    const path = await threeRows();
    appendFileSync(path, sealRecords([JSON.stringify({ type: 'row', row })]));
    const catalogue = await opened(path);
    expect([catalogue.size, catalogue.badLines]).toEqual([3, 1]);
  });

  it('preserves keys of a later version in a row', async () => {
    const path = await threeRows();
    const row = { ...rowOf('x'), mood: 'sunny' };
    appendFileSync(path, sealRecords([JSON.stringify({ type: 'row', row, by: 'a later version' })]));
    expect((await readAgain(path)).at(-1)).toEqual(row);
  });
});

const NEWER = Buffer.from(sealRecords(['{"type":"catalogue","version":2}']));

describe('a file that is not a catalogue of this version', () => {
  it.each([
    ['of a newer version', NEWER, 'newer than this program reads'],
    ['of another program', Buffer.from('{"some":"thing"}\n'), 'is not a catalogue'],
    ['of text', Buffer.from('shopping list'), 'is not a catalogue'],
    ['of zeros', Buffer.alloc(300), 'is not a catalogue'],
  ])('%s is rejected and not changed', async (_, bytes, words) => {
    const path = newPath();
    writeFileSync(path, bytes);
    await expect(Catalogue.open(path)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining(words),
    });
    expect(readFileSync(path)).toEqual(bytes);
  });

  it('is not written after a newer version has replaced it', async () => {
    const path = newPath();
    const failures: string[] = [];
    const catalogue = await opened(path, { onFailure: ({ message }) => failures.push(message) });
    catalogue.put(rowOf('a'));
    await written(catalogue);
    rmSync(path);
    writeFileSync(path, NEWER);
    catalogue.put(rowOf('b'));
    await catalogue.close();
    expect(idsOf(catalogue.list())).toEqual(['b', 'a']);
    expect(failures).toEqual([expect.stringContaining('newer than this program reads')]);
    expect(readFileSync(path)).toEqual(NEWER);
  });
});

describe('rebuilding a catalogue', () => {
  it('leaves only the given rows, also in the file', async () => {
    const path = newPath();
    const catalogue = await opened(path);
    catalogue.put(rowOf('stale'));
    await written(catalogue);
    expect(await catalogue.rebuild(each(['a', 'b'].map((id) => rowOf(id))))).toEqual({ rows: 2 });
    expect(idsOf(catalogue.list())).toEqual(['b', 'a']);
    expect(idsOf(await readAgain(path))).toEqual(['a', 'b']);
    expect(readdirSync(join(path, '..'))).toEqual(['catalogue.jsonl']);
  });

  it('creates a missing file', async () => {
    const path = newPath();
    const catalogue = await opened(path);
    await catalogue.rebuild(each([rowOf('a')]));
    expect(idsOf(await readAgain(path))).toEqual(['a']);
  });

  it('keeps concurrent changes of this and other processes', async () => {
    const path = newPath();
    const [first, second] = [await opened(path), await opened(path)];
    first.put(rowOf('stale'));
    await first.refresh();
    async function* rows(): AsyncGenerator<Row> {
      yield rowOf('a', { name: 'as read' });
      first.put(rowOf('a', { name: 'put here' }));
      second.put(rowOf('b', { name: 'put there' }));
      second.remove('c');
      await second.close();
      yield rowOf('b', { name: 'as read' });
      yield rowOf('c', { name: 'as read' });
      yield rowOf('d', { name: 'as read' });
    }
    await first.rebuild(rows());
    await first.close();
    const found = await readAgain(path);
    expect(found.map(({ id, name }) => `${id} ${name}`)).toEqual(['a put here', 'b put there', 'd as read']);
  });

  it('changes nothing if the rows cannot be read', async () => {
    const path = newPath();
    const catalogue = await opened(path);
    catalogue.put(rowOf('a'));
    async function* rows(): AsyncGenerator<Row> {
      yield rowOf('b');
      throw new Error('planted');
    }
    await expect(catalogue.rebuild(rows())).rejects.toThrow('cannot rebuild catalogue.jsonl: planted');
    expect(idsOf(catalogue.list())).toEqual(['a']);
    await catalogue.close();
    expect(idsOf(await readAgain(path))).toEqual(['a']);
    expect(existsSync(`${path}.lock`)).toBe(false);
  });
});

describe('a full disk', () => {
  const PATH = '/data/catalogue.jsonl';

  it.each([0, 1, 200])(
    'is reported once, loses no row, and is retried, with %i free bytes',
    async (freeBytes) => {
      const files = new FaultyFiles();
      const failures: string[] = [];
      const catalogue = await Catalogue.open(PATH, {
        files,
        onFailure: ({ message }) => failures.push(message),
      });
      catalogue.put(rowOf('a'));
      await written(catalogue);
      files.full = { fault: 'ENOSPC', freeBytes };
      for (const id of ['b', 'c', 'd']) {
        catalogue.put(rowOf(id));
        await written(catalogue);
      }
      expect(idsOf(catalogue.list())).toEqual(['d', 'c', 'b', 'a']);
      expect(failures).toEqual([expect.stringMatching(/^cannot write catalogue\.jsonl: ENOSPC.*\.$/)]);
      expect(idsOf(await readAgain(PATH, { files }))).toEqual(['a']);

      files.full = undefined;
      catalogue.put(rowOf('e'));
      await written(catalogue);
      expect(idsOf(await readAgain(PATH, { files }))).toEqual(['a', 'b', 'c', 'd', 'e']);
      files.full = { fault: 'EIO', freeBytes: 0 };
      catalogue.put(rowOf('f'));
      await catalogue.close();
      expect(failures).toHaveLength(2);
    },
  );

  it('prevents compaction and leaves the existing file', async () => {
    const files = new FaultyFiles();
    const catalogue = await Catalogue.open(PATH, { files });
    for (const id of ['a', 'b']) catalogue.put(rowOf(id));
    await written(catalogue);
    files.full = { fault: 'ENOSPC', freeBytes: 500 };
    await expect(catalogue.rebuild(each([rowOf('c')]))).rejects.toThrow('cannot rebuild catalogue.jsonl');
    files.full = undefined;
    await catalogue.close();
    expect(idsOf(await readAgain(PATH, { files }))).toEqual(['a', 'b']);
    expect(files.list('/data')).toEqual(['catalogue.jsonl']);
  });

  it('followed by a power cut after compaction loses no row', async () => {
    const files = new FaultyFiles();
    const catalogue = await Catalogue.open(PATH, { files });
    await catalogue.rebuild(each(['a', 'b', 'c'].map((id) => rowOf(id))));
    const after = files.afterPowerCut({ torn: 0, zeros: false, names: false });
    expect(idsOf(await readAgain(PATH, { files: after }))).toEqual(['a', 'b', 'c']);
  });
});
