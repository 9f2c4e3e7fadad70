import { dirname } from 'node:path';
import { systemCodeOf } from '../../base/index.ts';
import type { Feed, Files } from '../../store/index.ts';

/** Resolves when the disk has all of a file. */
export async function syncFile(files: Files, path: string): Promise<void> {
  await cutFile(files, path, Number.POSITIVE_INFINITY);
}

/** The same, and its name: without it a new file may vanish with the power. */
export async function syncFileAndName(files: Files, path: string): Promise<void> {
  await syncFile(files, path);
  await files.syncDirectory(dirname(path));
}

/** Resolves when the disk has what remains of a file: what was cut off does not come back. */
export async function cutFile(files: Files, path: string, end: number): Promise<void> {
  const file = files.openToUpdate(path);
  try {
    if (file.state().size > end) file.truncate(end);
    await file.sync();
  } finally {
    file.close();
  }
}

/** Removes a file if that can be done; says whether it is gone. */
export function isRemoved(files: Files, path: string): boolean {
  try {
    files.unlink(path);
    return true;
  } catch (error) {
    return systemCodeOf(error) === 'ENOENT';
  }
}

/** A feed that never syncs: nothing can fail but the closing itself, and then there is nothing to be done. */
export function letGo(feed: Feed | undefined): void {
  feed?.log.close().catch(() => {});
}
