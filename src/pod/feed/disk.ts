import { dirname } from 'node:path';
import { systemCodeOf } from '../../base/index.ts';
import type { FeedFile, Files } from '../../store/index.ts';

/** Resolves when a file is on disk. */
export async function syncFile(files: Files, path: string): Promise<void> {
  await cutFile(files, path, Number.POSITIVE_INFINITY);
}

/** Also syncs the directory entry: without it, a power cut may remove a new file. */
export async function syncFileAndName(files: Files, path: string): Promise<void> {
  await syncFile(files, path);
  await files.syncDirectory(dirname(path));
}

/** Resolves when a truncated file is on disk, so that a power cut cannot restore the removed part. */
export async function cutFile(files: Files, path: string, end: number): Promise<void> {
  const file = files.openToUpdate(path);
  try {
    if (file.state().size > end) file.truncate(end);
    await file.sync();
  } finally {
    file.close();
  }
}

/** Tries to remove a file. Returns whether it is gone. */
export function isRemoved(files: Files, path: string): boolean {
  try {
    files.unlink(path);
    return true;
  } catch (error) {
    return systemCodeOf(error) === 'ENOENT';
  }
}

/** Closes a segment's file. It has not been synced before, so only the close itself can fail, and that error is ignored. */
export function closeSegment(feed: FeedFile | undefined): void {
  feed?.log.close().catch(() => {});
}
