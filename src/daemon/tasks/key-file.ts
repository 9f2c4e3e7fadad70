import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { asPolypodError } from '../../base/index.ts';
import { acquireLock, type Lock } from '../../store/index.ts';
import type { Places } from '../places.ts';
import { makePrivate } from '../private-directory.ts';
import { refuseUnsafeFile } from '../refuse-unsafe-file.ts';
import { keysFile } from './agent-files.ts';

/** Changes the keys while nobody else does: who reads, changes and writes beside another would lose what that one wrote. */
export async function changeKeys<T>(
  places: Pick<Places, 'dataDirectory'>,
  change: (file: string) => T | Promise<T>,
): Promise<T> {
  const file = keysFile(places);
  makePrivate(dirname(file));
  refuseUnsafeFile('the file of keys', file);
  const lock = await lockSoon(file);
  try {
    return await change(file);
  } finally {
    lock.release();
  }
}

/** A change takes a moment: whoever finds the file locked waits for its turn. */
async function lockSoon(file: string): Promise<Lock> {
  for (let waited = 0; ; waited += PAUSE_MS) {
    try {
      return acquireLock(file);
    } catch (thrown) {
      if (asPolypodError(thrown).code !== 'conflict' || waited >= PATIENCE_MS) throw thrown;
      await sleep(PAUSE_MS);
    }
  }
}

const PAUSE_MS = 10;
const PATIENCE_MS = 10_000;
