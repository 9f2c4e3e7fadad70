import { join } from 'node:path';
import { PolypodError, systemCodeOf, withoutUndefined } from '../../base/index.ts';
import type { Files } from '../../store/index.ts';
import { makeDirectories } from '../journal/index.ts';
import type { Row } from '../catalogue/index.ts';
import type { Layout } from './layout.ts';
import { rowFromFile } from './session-rows.ts';

const KEPT_MS = 30 * 24 * 60 * 60 * 1000;
const DRAFT_MS = 60 * 60 * 1000;

/** Moves a session, its feed and its saved files to the trash. Resolves when the move is on disk. */
export async function moveToTrash(files: Files, layout: Layout, id: string, now: Date): Promise<void> {
  const target = join(layout.trash, `${now.getTime()}-${id}`);
  makeDirectories(files, target);
  ifThere(() => files.rename(layout.session(id), join(target, `${id}.jsonl`)));
  ifThere(() => files.rename(layout.feed(id), join(target, 'feed')));
  ifThere(() => files.rename(layout.savedFilesOf(id), join(target, 'saved')));
  // Sync the new directory before the old one, so that the file is always in one of them.
  for (const directory of [target, layout.trash, layout.sessions]) await files.syncDirectory(directory);
}

/** A session in the trash. */
export interface TrashedSession
  extends Pick<Row, 'id' | 'name' | 'cwd' | 'firstPrompt' | 'parentId' | 'spawned'> {
  /** The name of its directory in the trash. */
  readonly entry: string;
  readonly removedAt: string;
  /** When a process that hosts pods deletes it. */
  readonly deletedAfter: string;
}

/** Lists the sessions in the trash, the last removed first. A session file that cannot be read is listed by its id. */
export async function trashedSessions(files: Files, layout: Layout): Promise<readonly TrashedSession[]> {
  if (files.stat(layout.trash) === undefined) return [];
  const source = { files, layout, now: () => new Date(), onFailure: () => {} };
  const found: TrashedSession[] = [];
  for (const entry of files.list(layout.trash)) {
    const [, time = '', id = ''] = /^(\d{1,15})-(.+)$/.exec(entry) ?? [];
    const file = join(layout.trash, entry, `${id}.jsonl`);
    if (id === '' || files.stat(file) === undefined) continue;
    const row = await rowFromFile(source, file).catch(() => ({ cwd: '' }));
    const { name, cwd, firstPrompt, parentId, spawned }: Partial<Row> & Pick<Row, 'cwd'> = row;
    found.push({
      entry,
      id,
      cwd,
      ...withoutUndefined({ name, firstPrompt, parentId, spawned }),
      removedAt: new Date(Number(time)).toISOString(),
      deletedAfter: new Date(Number(time) + KEPT_MS).toISOString(),
    });
  }
  return found.toSorted((one, other) => (one.removedAt < other.removedAt ? 1 : -1));
}

/** Moves a session, its feed and its saved files back from the trash. Resolves with its file when the move is on disk. */
export async function moveFromTrash(
  files: Files,
  layout: Layout,
  { entry, id }: Pick<TrashedSession, 'entry' | 'id'>,
): Promise<string> {
  const source = join(layout.trash, entry);
  const file = layout.session(id);
  if (files.stat(file) !== undefined) throw new PolypodError('conflict', `the session ${id} exists: ${file}`);
  // The session last: until then, the trash has a session that can be restored.
  ifThere(() => files.rename(join(source, 'feed'), layout.feed(id)));
  makeDirectories(files, layout.savedFiles);
  ifThere(() => files.rename(join(source, 'saved'), layout.savedFilesOf(id)));
  files.rename(join(source, `${id}.jsonl`), file);
  for (const directory of [layout.feeds, layout.sessions, source]) await files.syncDirectory(directory);
  removeAll(files, source);
  return file;
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
