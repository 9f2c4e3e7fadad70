import type { Files } from './files.ts';

/**
 * Files whose sync failed, with the offset after which the disk may not have the content. Programs still see that content,
 * and the operating system considers it clean, so the next process that opens the file must write it again.
 */
const unsyncedFrom = new WeakMap<Files, Map<string, number>>();

/** Records that the content after this offset may not be on the disk. */
export function markUnsynced(files: Files, path: string, from: number): void {
  const offsets = unsyncedFrom.get(files) ?? new Map<string, number>();
  unsyncedFrom.set(files, offsets.set(path, Math.min(from, offsets.get(path) ?? from)));
}

/** Writes and syncs the unsynced range of a file again, if there is one. */
export async function resyncFile(files: Files, path: string): Promise<void> {
  const from = unsyncedFrom.get(files)?.get(path);
  if (from === undefined) return;
  const end = files.stat(path)?.size ?? 0;
  if (end > from) await rewrite(files, path, from, end);
  unsyncedFrom.get(files)?.delete(path);
}

/**
 * Overwrites a range of the file with itself and syncs it. After a failed sync the pages are marked clean although they are
 * not on the disk, so the next sync would succeed without writing them; this marks them dirty again.
 */
async function rewrite(files: Files, path: string, from: number, to: number): Promise<void> {
  const file = files.openToUpdate(path);
  try {
    const bytes = Buffer.alloc(to - from);
    await file.read(bytes, from);
    for (let written = 0; written < bytes.length; )
      written += file.overwrite(bytes.subarray(written), from + written);
    await file.sync();
  } finally {
    file.close();
  }
}
