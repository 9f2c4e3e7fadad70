import { dirname } from 'node:path';
import { lockSoon } from '../../setup/paths/lock-with-retry.ts';
import type { Places } from '../../setup/paths/data-paths.ts';
import { makePrivate } from '../../setup/paths/private-directory.ts';
import { refuseUnsafeFile } from '../../setup/paths/refuse-unsafe-file.ts';
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
