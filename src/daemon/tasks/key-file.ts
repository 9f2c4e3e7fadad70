import { dirname } from 'node:path';
import {
  lockWithRetry,
  type DataPaths,
  makePrivateDirectory,
  refuseUnsafeFile,
} from '../../setup/paths/index.ts';
import { keysFile } from '../../setup/paths/index.ts';

/** Changes the keys under a lock, so that two writers do not overwrite each other. */
export async function changeKeys<T>(
  dataPaths: Pick<DataPaths, 'dataDirectory'>,
  change: (file: string) => T | Promise<T>,
): Promise<T> {
  const file = keysFile(dataPaths);
  makePrivateDirectory(dirname(file));
  refuseUnsafeFile('the file of keys', file);
  const lock = await lockWithRetry(file);
  try {
    return await change(file);
  } finally {
    lock.release();
  }
}
