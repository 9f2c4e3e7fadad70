import { dirname } from 'node:path';
import { PolypodError } from '../../base/index.ts';
import type { Files } from '../../store/index.ts';
import type { Row } from '../catalogue/index.ts';
import type { Layout } from './layout.ts';

/**
 * Refuses a file for a new session where another session was: whoever names it means that one. Files in the directory of
 * the host's own sessions are named by their ids.
 */
export function refuseTakenPlace(file: string, layout: Layout, rows: readonly Row[]): void {
  const isDeleted = rows.some((row) => layout.path(row.file) === file);
  if (isDeleted || dirname(file) === layout.sessions)
    throw new PolypodError(
      'not-found',
      `the session file ${file} was deleted: choose another session, or start a new one`,
    );
}

/** Feeds, sockets and outputs are named by the id of their session, and some programs write other ids into their files. */
export function refuseUnsafeId(id: string, file: string): void {
  if (/^[\p{L}\p{N}][\p{L}\p{N}._-]*$/u.test(id) && Buffer.byteLength(id) <= LONGEST_ID) return;
  throw new PolypodError(
    'bad-request',
    `${file} has a session id that cannot be used as a file name: use letters, digits, ".", "_" and "-", at most ${LONGEST_ID} bytes`,
  );
}

/** A name in a directory has at most 255 bytes, and some of ours are longer than the id. */
const LONGEST_ID = 200;

/** Whether two paths lead to one file, through whatever links. */
export function isSameFile(files: Files, one: string, other: string): boolean {
  if (one === other) return true;
  const [first, second] = [files.stat(one), files.stat(other)];
  return first !== undefined && first.inode === second?.inode && first.modifiedMs === second.modifiedMs;
}
