import { setTimeout as sleep } from 'node:timers/promises';
import { asPolypodError } from '../../base/index.ts';
import { acquireLock, type Lock } from '../../store/index.ts';

/** Acquires the lock of a file that is locked only briefly, waiting if necessary. */
export async function lockWithRetry(file: string): Promise<Lock> {
  for (let waited = 0; ; waited += PAUSE_MS) {
    try {
      return acquireLock(file);
    } catch (thrown) {
      if (asPolypodError(thrown).code !== 'conflict' || waited >= TIMEOUT_MS) throw thrown;
      await sleep(PAUSE_MS);
    }
  }
}

const PAUSE_MS = 10;
const TIMEOUT_MS = 10_000;
