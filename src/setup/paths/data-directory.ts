import { accessSync, chmodSync, constants, mkdirSync, statfsSync, statSync } from 'node:fs';
import { messageOf, PolypodError, systemCodeOf, tryOrUndefined } from '../../base/index.ts';
import { acquireLock, type Lock, readLock } from '../../store/index.ts';
import { daemonLock, type DataPaths } from './data-paths.ts';

/** Creates the data directory with access only for its user, or throws why it cannot be used. */
export function makeDataDirectory({ dataDirectory }: Pick<DataPaths, 'dataDirectory'>): void {
  try {
    mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
    if ((statSync(dataDirectory).mode & 0o077) !== 0) chmodSync(dataDirectory, 0o700);
    accessSync(dataDirectory, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (thrown) {
    const reason = REASONS[systemCodeOf(thrown) ?? ''] ?? messageOf(thrown);
    throw new PolypodError(
      'denied',
      `the data directory ${dataDirectory} cannot be used: ${reason}. Put that right, or name another with --data-dir.`,
      { cause: thrown },
    );
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of the path is a file',
  EEXIST: 'it is a file',
  ENOSPC: 'the disk is full',
};

/** Acquires the daemon lock of a data directory. If another daemon holds it, the error names that process. */
export function lockDataDirectory(dataPaths: Pick<DataPaths, 'dataDirectory'>): Lock {
  try {
    return acquireLock(daemonLock(dataPaths));
  } catch (thrown) {
    const holder = readLock(daemonLock(dataPaths));
    if (holder === undefined || holder.state === 'dead') throw thrown;
    const { pid, host } = holder.owner;
    const where = holder.state === 'alive' ? '' : ` on the host ${host}`;
    throw new PolypodError(
      'conflict',
      `a daemon is up already on ${dataPaths.dataDirectory}: process ${pid}${where}. Use it, end it with polypod stop, or start this one with another --data-dir.`,
      { cause: thrown },
    );
  }
}

/** The free bytes for this user on the disk of a directory; undefined if unknown. */
export function diskFree(directory: string): number | undefined {
  const stats = tryOrUndefined(() => statfsSync(directory));
  return stats && stats.bavail * stats.bsize;
}
