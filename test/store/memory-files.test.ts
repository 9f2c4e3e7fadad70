import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { acquireLock, type Files, memoryFiles, openLog, realFiles } from '../../src/store/index.ts';
import { temporaryDirectory, textsOf } from './fixture.ts';
import { KIND } from './sweep.ts';

/** Each with its own empty directory. */
const KINDS: readonly (readonly [string, () => { readonly files: Files; readonly home: string }])[] = [
  ['on the disk', () => ({ files: realFiles, home: temporaryDirectory() })],
  [
    'in memory',
    () => {
      const files = memoryFiles();
      files.makeDirectory('/home');
      return { files, home: '/home' };
    },
  ],
];

const bytes = (text: string) => Buffer.from(text);

function put(files: Files, path: string, text: string): void {
  const file = files.create(path);
  file.append(bytes(text));
  file.close();
}

async function textIn(file: ReturnType<Files['openToRead']>, length = 100): Promise<string> {
  const target = Buffer.alloc(length);
  return target.toString('utf8', 0, await file.read(target, 0));
}

/** The code of the error that `action` throws. */
function codeOf(action: () => unknown): unknown {
  try {
    action();
    return 'nothing was thrown';
  } catch (error) {
    return error instanceof Error && 'code' in error ? error.code : error;
  }
}

describe.each(KINDS)('files %s', (_, begin) => {
  it('append at the current end, also after another handle has appended', async () => {
    const { files, home } = begin();
    const path = join(home, 'one');
    put(files, path, 'ab');
    const [one, other] = [files.openToAppend(path), files.openToAppend(path)];
    expect([one.append(bytes('c')), other.append(bytes('de')), one.append(bytes('f'))]).toEqual([1, 2, 1]);
    expect(files.readText(path)).toBe('abcdef');
    expect(await textIn(files.openToRead(path))).toBe('abcdef');
    const target = Buffer.alloc(3);
    expect([await one.read(target, 4), target.toString('utf8', 0, 2)]).toEqual([2, 'ef']);
    expect(await one.read(target, 99)).toBe(0);
    await one.sync();
    await files.syncDirectory(home);
  });

  it('can be overwritten, truncated and extended with zeros', () => {
    const { files, home } = begin();
    const path = join(home, 'one');
    put(files, path, 'abcdef');
    const file = files.openToUpdate(path);
    expect(file.overwrite(bytes('XY'), 1)).toBe(2);
    file.truncate(4);
    expect(files.readText(path)).toBe('aXYd');
    file.truncate(6);
    expect(files.readText(path)).toBe('aXYd\0\0');
    expect(file.overwrite(bytes('z'), 7)).toBe(1);
    expect(files.readText(path)).toBe('aXYd\0\0\0z');
    const appending = files.openToAppend(path);
    appending.truncate(1);
    appending.append(bytes('b'));
    expect(files.readText(path)).toBe('ab');
  });

  it('keep their identity after a rename, and get another one when created again', () => {
    const { files, home } = begin();
    const [one, two] = [join(home, 'one'), join(home, 'two')];
    put(files, one, 'ab');
    const before = files.stat(one);
    expect(before).toMatchObject({ size: 2 });
    expect(files.openToRead(one).state()).toEqual(before);
    files.link(one, two);
    expect(files.stat(two)).toEqual(before);
    expect(codeOf(() => files.link(one, two))).toBe('EEXIST');
    files.unlink(one);
    expect(files.readText(two)).toBe('ab');
    put(files, one, 'ab');
    expect(files.stat(one)?.inode).not.toBe(before?.inode);
    put(files, two, 'c');
    expect(files.stat(two)).toMatchObject({ inode: before?.inode, size: 1 });
  });

  it('stay readable through open handles after they are replaced or removed', async () => {
    const { files, home } = begin();
    const [one, two] = [join(home, 'one'), join(home, 'two')];
    put(files, one, 'old');
    put(files, two, 'new');
    const reader = files.openToRead(one);
    files.rename(two, one);
    expect([files.readText(one), await textIn(reader), files.stat(two)]).toEqual(['new', 'old', undefined]);
    const second = files.openToRead(one);
    files.unlink(one);
    expect([await textIn(second), files.stat(one)]).toEqual(['new', undefined]);
  });

  it('need a directory, which is created once and removed when it is empty', () => {
    const { files, home } = begin();
    const inner = join(home, 'inner');
    files.makeDirectory(inner);
    put(files, join(inner, 'one'), 'ab');
    files.makeDirectory(inner);
    expect([files.list(home), files.list(inner)]).toEqual([['inner'], ['one']]);
    expect(files.stat(inner)).toBeDefined();
    expect(codeOf(() => files.removeDirectory(inner))).toBe('ENOTEMPTY');
    files.unlink(join(inner, 'one'));
    files.removeDirectory(inner);
    expect([files.list(home), files.stat(inner)]).toEqual([[], undefined]);
  });

  it('fail with the same error codes if they do not or cannot exist', async () => {
    const { files, home } = begin();
    const none = join(home, 'none');
    const deep = join(none, 'one');
    put(files, join(home, 'one'), 'ab');
    const codes = [
      () => files.openToRead(none),
      () => files.openToAppend(none),
      () => files.openToUpdate(none),
      () => files.readText(none),
      () => files.rename(none, join(home, 'two')),
      () => files.rename(join(home, 'one'), deep),
      () => files.link(none, join(home, 'two')),
      () => files.unlink(none),
      () => files.create(deep),
      () => files.makeDirectory(deep),
      () => files.removeDirectory(none),
      () => files.list(none),
    ].map(codeOf);
    expect(new Set(codes)).toEqual(new Set(['ENOENT']));
    await expect(files.syncDirectory(none)).rejects.toMatchObject({ code: 'ENOENT' });
    expect(codeOf(() => files.list(join(home, 'one')))).toBe('ENOTDIR');
    expect(codeOf(() => files.removeDirectory(join(home, 'one')))).toBe('ENOTDIR');
    expect(codeOf(() => files.readText(home))).toBe('EISDIR');
    expect(files.readText(join(home, 'one'))).toBe('ab');
  });

  it('cannot be written through a read handle, and closing twice does nothing', () => {
    const { files, home } = begin();
    const path = join(home, 'one');
    put(files, path, 'ab');
    const reader = files.openToRead(path);
    expect(codeOf(() => reader.append(bytes('c')))).toBe('EBADF');
    reader.close();
    reader.close();
    expect(files.readText(path)).toBe('ab');
  });

  it('support a log: it continues at its end, cuts a torn line and detects another writer', async () => {
    const { files, home } = begin();
    const path = join(home, 'log');
    const log = await openLog(path, { ...KIND, files });
    await log.append(['{"n":1}'], true);
    await log.close();
    files.openToAppend(path).append(bytes('{"n":'));
    const again = await openLog(path, { ...KIND, files });
    expect(again.repair).toMatchObject({ kind: 'cut' });
    await again.append(['{"n":2}'], true);
    expect(await textsOf(files, path)).toEqual([KIND.header, '{"n":1}', '{"n":2}']);
    files.openToAppend(path).append(bytes('{}\n'));
    await expect(again.append(['{"n":3}'], true)).rejects.toMatchObject({ code: 'conflict' });
    await again.close();
  });

  it('support a lock: one owner at a time, and the previous owner detects a takeover', () => {
    const { files, home } = begin();
    const path = join(home, 'one');
    const lock = acquireLock(path, { files });
    expect(() => acquireLock(path, { files })).toThrow(`is open in process ${process.pid}`);
    const taker = acquireLock(path, { files, takeOver: 'anyone' });
    expect(() => lock.assertOwner()).toThrow('another process has taken over');
    taker.assertOwner();
    expect(taker.owner.epoch).toBe(2);
    lock.release();
    taker.assertOwner();
    taker.release();
    expect(files.list(home)).toEqual([]);
    acquireLock(path, { files }).release();
  });
});

describe('files in memory', () => {
  it('are neither on the disk nor in another instance', () => {
    const home = temporaryDirectory();
    mkdirSync(join(home, 'there'));
    const [one, other] = [memoryFiles(), memoryFiles()];
    expect(codeOf(() => one.list(join(home, 'there')))).toBe('ENOENT');
    put(one, '/one', 'ab');
    expect([one.list('/'), other.list('/')]).toEqual([['one'], []]);
  });

  it('cannot be written through a closed handle', () => {
    const files = memoryFiles();
    const file = files.create('/one');
    file.close();
    expect(codeOf(() => file.append(bytes('c')))).toBe('EBADF');
    expect(files.readText('/one')).toBe('');
  });

  it('get a new modification time with every change', () => {
    const files = memoryFiles();
    const times = Array.from({ length: 1000 }, () => {
      put(files, '/one', 'ab');
      return files.stat('/one')?.modifiedMs;
    });
    expect(new Set(times).size).toBe(1000);
  });
});
