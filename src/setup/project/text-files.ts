import { constants } from 'node:fs';
import { type FileHandle, open, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileFacts, isInside, isSecret } from '../../tools/index.ts';

/** Text files are instructions for a model, which receives them completely. */
export const LONGEST_TEXT = 100_000;

/** The root of the user's own files, which may be links, such as to a repository with settings. */
export const ANY_ROOT = '/';

/**
 * Reads a text file inside a real directory; undefined if it is missing, is not a file or leads out of the directory by a link:
 * a repository could otherwise send any file to the model. The text is cut one character after the limit.
 */
export async function readTextInside(root: string, file: string): Promise<string | undefined> {
  const found = await fileFacts.realPath(file);
  if (!('real' in found) || !isInside(root, found.real) || isSecret(found.real)) return undefined;
  const handle = await open(found.real, OPEN_FLAGS).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) return undefined;
    // A command of an agent may replace a directory of the path by a link at any time.
    if ((await openedPath(handle, found.real)) !== found.real) return undefined;
    const buffer = Buffer.alloc(Math.min(stats.size, LONGEST_TEXT * 4));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    return buffer
      .toString('utf8', 0, bytesRead)
      .replace(/^\uFEFF/, '')
      .slice(0, LONGEST_TEXT + 1);
  } finally {
    await handle.close();
  }
}

/** The path of an open file, which only Linux reports; elsewhere the path with which it was opened. */
async function openedPath({ fd }: FileHandle, otherwise: string): Promise<string> {
  return readlink(`/proc/self/fd/${fd}`).catch(() => otherwise);
}

/** O_NONBLOCK, because opening a pipe would wait for its writer. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The names in a directory, in order; none if it does not exist. At most as many as the limit. */
export async function sortedNames(directory: string, limit: number): Promise<readonly string[]> {
  const names = await readdir(directory).catch((): string[] => []);
  return names.toSorted().slice(0, limit);
}

/** One line of a text from a file, without control characters and bidirectional overrides. */
export function labelFrom(text: string, limit: number): string {
  return text
    .trim()
    .replace(/[\p{Cc}\u202A-\u202E\u2066-\u2069]+/gu, ' ')
    .slice(0, limit);
}

/** Where a project keeps files of a kind, such as commands or skills. The directory of Claude Code is read too. */
export function projectFolders(directory: string, kind: string): readonly string[] {
  return ['.claude', '.polypod'].map((folder) => join(directory, folder, kind));
}
