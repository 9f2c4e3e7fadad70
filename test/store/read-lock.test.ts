import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { acquireLock, readLock } from '../../src/store/index.ts';

function file(): string {
  const directory = mkdtempSync(join(tmpdir(), 'polypod-lock-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, 'log.jsonl');
}

test('readLock reads the owner without acquiring the lock', () => {
  const path = file();
  expect(readLock(path)).toBeUndefined();
  const lock = acquireLock(path);
  expect(readLock(path)).toEqual({ owner: lock.owner, state: 'alive' });
  lock.assertOwner();
  lock.release();
  expect(readLock(path)).toBeUndefined();
});

test('readLock reports a stale lock, and prefers a live owner over a dead one', () => {
  const path = file();
  const left = acquireLock(path);
  expect(readLock(path, { stateOf: () => 'dead' })).toEqual({ owner: left.owner, state: 'dead' });
  const taken = acquireLock(path, { stateOf: () => 'dead' });
  expect(taken.owner.epoch).toBe(left.owner.epoch + 1);
  expect(readLock(path)).toEqual({ owner: taken.owner, state: 'alive' });
});
