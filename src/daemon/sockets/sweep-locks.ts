import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { namesIn } from '../../base/index.ts';
import { Layout } from '../../pod/sessions.ts';
import { acquireLock } from '../../store/index.ts';
import type { DataPaths } from '../../setup/paths/index.ts';

const LOCK = '.lock';

/**
 * Removes the locks of sessions without a file: a process was killed while it created them, and nothing will open them. Returns
 * the number of removed locks. The lock of a session with a file is taken over when the session is opened.
 */
export function sweepLocks({ dataDirectory }: Pick<DataPaths, 'dataDirectory'>): number {
  const { sessions } = new Layout(dataDirectory);
  const files = namesIn(sessions)
    .filter((name) => name.endsWith(`.jsonl${LOCK}`))
    .map((name) => join(sessions, name.slice(0, -LOCK.length)));
  return files.filter((file) => !existsSync(file) && isReleased(file)).length;
}

/** Takes over the lock of a dead process and releases it. */
function isReleased(file: string): boolean {
  try {
    acquireLock(file).release();
    return true;
  } catch {
    // A running process is about to write the file.
    return false;
  }
}
