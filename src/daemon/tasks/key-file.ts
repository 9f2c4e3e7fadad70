import { dirname } from 'node:path';
import { lockSoon } from '../lock-soon.ts';
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
