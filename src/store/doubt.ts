import type { Files } from './files.ts';

/**
 * Where the sync of a file failed, by path: what follows that place is seen by every program, and the disk may not have
 * it. The operating system has forgotten that, so whoever opens the file next has to be told, and that is not always the
 * one whose sync failed.
 */
const doubts = new WeakMap<Files, Map<string, number>>();

/** Notes that the disk may not have what follows this place. */
export function doubt(files: Files, path: string, from: number): void {
  const known = doubts.get(files) ?? new Map<string, number>();
  doubts.set(files, known.set(path, Math.min(from, known.get(path) ?? from)));
}

/** Resolves when the disk has what was in doubt; a file that was exchanged since is in none. */
export async function settleDoubt(files: Files, path: string): Promise<void> {
  const from = doubts.get(files)?.get(path);
  if (from === undefined) return;
  const end = files.stat(path)?.size ?? 0;
  if (end > from) await writeAgain(files, path, from, end);
  doubts.get(files)?.delete(path);
}

/**
 * Writes a range of the file over itself and syncs it. After a failed sync the pages count as clean although the disk does
 * not have them, so the next sync would succeed without writing them; this makes them dirty again.
 */
async function writeAgain(files: Files, path: string, from: number, to: number): Promise<void> {
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
