import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { acquireLock, type LockOwner } from '../../src/store/index.ts';
import { temporaryDirectory } from './fixture.ts';

/** A session's path with a lock that has this content. */
function lockedBy(changes: Partial<LockOwner>): string {
  const path = join(temporaryDirectory(), 'one.jsonl');
  const probe = acquireLock(path);
  probe.release();
  mkdirSync(`${path}.lock`);
  const owner = { ...probe.owner, epoch: 4, ...changes };
  writeFileSync(join(`${path}.lock`, String(owner.epoch)), JSON.stringify(owner));
  return path;
}

describe('a lock', () => {
  it('names its owner: process, start time, boot, host and epoch', () => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    const lock = acquireLock(path);
    const written = JSON.parse(readFileSync(join(`${path}.lock`, '1'), 'utf8'));
    expect(written).toEqual(lock.owner);
    expect(written).toEqual({
      pid: process.pid,
      startedAt: expect.stringMatching(/./),
      bootId: expect.stringMatching(/./),
      host: hostname(),
      epoch: 1,
    });
    expect(readdirSync(`${path}.lock`)).toEqual(['1']);
  });

  it('is refused to a second owner, available again after its release, and leaves no files', () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'one.jsonl');
    const lock = acquireLock(path);
    expect(() => acquireLock(path)).toThrow(`one.jsonl is open in process ${process.pid}`);
    lock.assertOwner();
    lock.release();
    expect(readdirSync(directory)).toEqual([]);
    expect(() => lock.assertOwner()).toThrow('another process has taken over');
    acquireLock(path).release();
  });

  it.each([
    ['whose number nobody has', { pid: 2 ** 22 + 1 }],
    ['whose number another process has by now', { startedAt: '1' }],
    ['of before the machine was started again', { bootId: 'another' }],
  ])('is taken over from a process %s, and the epoch increases', (_, changes) => {
    const path = lockedBy(changes);
    const lock = acquireLock(path);
    expect(lock.owner.epoch).toBe(5);
    expect(readdirSync(`${path}.lock`)).toEqual(['5']);
    lock.assertOwner();
  });

  it('is not taken over from another host, with the next step in the error', () => {
    const path = lockedBy({ host: 'elsewhere' });
    expect(() => acquireLock(path)).toThrow(
      /^one\.jsonl is locked by process \d+ on the host elsewhere; .* remove the \.lock directory beside the file\.$/,
    );
  });

  it('is taken over from a live owner on request, after which the old owner does not write', () => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    const old = acquireLock(path);
    old.assertRecentOwner();
    const lock = acquireLock(path, { takeOver: 'anyone' });
    expect(lock.owner.epoch).toBe(2);
    expect(() => old.assertOwner()).toThrow('epoch 1');
    // The earlier check is no longer valid, since the new owner waited.
    expect(() => old.assertRecentOwner()).toThrow('epoch 1');
    // A lost lock cannot be released.
    old.release();
    lock.assertOwner();
  });

  it('is not confused with an older one of the same epoch', () => {
    const path = join(temporaryDirectory(), 'one.jsonl');
    const old = acquireLock(path);
    acquireLock(path, { takeOver: 'anyone' }).release();
    const lock = acquireLock(path);
    expect(lock.owner.epoch).toBe(old.owner.epoch);
    expect(() => old.assertOwner()).toThrow('taken over');
    old.release();
    lock.assertOwner();
  });

  it('can be acquired despite remains of a power cut and drafts of crashed processes', () => {
    const path = lockedBy({ pid: 2 ** 22 + 1 });
    writeFileSync(join(`${path}.lock`, '9'), '');
    writeFileSync(join(`${path}.lock`, 'draft-1'), '{');
    const lock = acquireLock(path);
    expect(lock.owner.epoch).toBe(10);
    expect(readdirSync(`${path}.lock`)).toEqual(['10']);
  });
});
