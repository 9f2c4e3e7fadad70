import { dirname } from 'node:path';
import { PolypodError } from '../../base/index.ts';
import type { Files } from '../../store/index.ts';
import type { Row } from '../catalogue/index.ts';
import type { Layout } from './layout.ts';

/**
 * Rejects a path for a new session if another session used it: the path identifies that session. Files in the host's own session
 * directory are named by their ids.
 */
export function refuseTakenFile(file: string, layout: Layout, rows: readonly Row[]): void {
  const isDeleted = rows.some((row) => layout.path(row.file) === file);
  if (isDeleted || dirname(file) === layout.sessions)
    throw new PolypodError(
      'not-found',
      `the session file ${file} was deleted: choose another session, or start a new one`,
    );
}

/**
 * Rejects ids that are unsafe as file names. Feeds, sockets and outputs are named by the session id, and other programs may write
 * any id.
 */
export function refuseUnsafeId(id: string, file: string): void {
  if (/^[\p{L}\p{N}][\p{L}\p{N}._-]*$/u.test(id) && Buffer.byteLength(id) <= LONGEST_ID) return;
  throw new PolypodError(
    'bad-request',
    `${file} has a session id that cannot be used as a file name: use letters, digits, ".", "_" and "-", at most ${LONGEST_ID} bytes`,
  );
}

/** File names have at most 255 bytes, and some of ours are longer than the id. */
const LONGEST_ID = 200;

/** Whether two paths refer to the same file, also through links. */
export function isSameFile(files: Files, one: string, other: string): boolean {
  if (one === other) return true;
  const [first, second] = [files.stat(one), files.stat(other)];
  return first !== undefined && first.inode === second?.inode && first.modifiedMs === second.modifiedMs;
}
