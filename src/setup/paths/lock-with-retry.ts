import { setTimeout as sleep } from 'node:timers/promises';
import { asPolypodError } from '../../base/index.ts';
import { acquireLock, type Lock } from '../../store/index.ts';

/** Locks a file that is changed in a moment: whoever finds it locked waits for its turn. */
export async function lockWithRetry(file: string): Promise<Lock> {
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
