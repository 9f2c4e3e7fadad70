import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileFacts, isInside, isSecret } from '../../tools/index.ts';

/** Text files are instructions for a model, which receives them completely. */
export const LONGEST_TEXT = 100_000;

/**
 * Reads a text file inside a directory; undefined if it is missing, is not a file or leads out of the directory by a link:
 * a repository could otherwise send any file to the model. The text is cut one character after the limit.
 */
export async function readTextInside(root: string, file: string): Promise<string | undefined> {
  const [directory, found] = await Promise.all([fileFacts.realPath(root), fileFacts.realPath(file)]);
  if (!('real' in directory) || !('real' in found)) return undefined;
  if (!isInside(directory.real, found.real) || isSecret(found.real)) return undefined;
  // O_NONBLOCK, because opening a pipe would wait for its writer.
  const handle = await open(found.real, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) return undefined;
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
