import { join } from 'node:path';
import { systemCodeOf } from '../../base/index.ts';
import type { Files } from '../../store/index.ts';
import { makeDirectories } from '../journal/index.ts';
import type { Layout } from './layout.ts';

const KEPT_MS = 30 * 24 * 60 * 60 * 1000;
const DRAFT_MS = 60 * 60 * 1000;

/** Moves a session and its feed to the trash, from which they can be moved back by hand. Resolves when the move is on disk. */
export async function moveToTrash(files: Files, layout: Layout, id: string, now: Date): Promise<void> {
  const target = join(layout.trash, `${now.getTime()}-${id}`);
  makeDirectories(files, target);
  ifThere(() => files.rename(layout.session(id), join(target, `${id}.jsonl`)));
  ifThere(() => files.rename(layout.feed(id), join(target, 'feed')));
  // Sync the new directory before the old one, so that the file is always in one of them.
  for (const directory of [target, layout.trash, layout.sessions]) await files.syncDirectory(directory);
}

/** Removes files whose retention time is over. */
export function emptyTrash(files: Files, layout: Layout, now: Date): void {
  if (files.stat(layout.trash) === undefined) return;
  for (const name of files.list(layout.trash)) {
    const thrownAway = Number(/^(\d+)-/.exec(name)?.[1] ?? Number.NaN);
    if (now.getTime() - thrownAway > KEPT_MS) removeAll(files, join(layout.trash, name));
  }
}

/** Removes incomplete forks that a crash left. A fork that is being created now is younger than the limit. */
export function removeDrafts(files: Files, layout: Layout, now: Date): void {
  for (const name of files.list(layout.sessions)) {
    const path = join(layout.sessions, name);
    if (!name.endsWith('.fork')) continue;
    const { modifiedMs } = files.stat(path) ?? { modifiedMs: now.getTime() };
    if (now.getTime() - modifiedMs > DRAFT_MS) ifThere(() => files.unlink(path));
  }
}

function removeAll(files: Files, path: string): void {
  let names: readonly string[];
  try {
    names = files.list(path);
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOTDIR') throw error;
    files.unlink(path);
    return;
  }
  for (const name of names) removeAll(files, join(path, name));
  files.removeDirectory(path);
}

function ifThere(action: () => void): void {
  try {
    action();
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT') throw error;
  }
}
