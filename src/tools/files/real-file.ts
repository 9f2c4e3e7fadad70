import { constants } from 'node:fs';
import { type FileHandle, open, readlink } from 'node:fs/promises';
import { PolypodError } from '../../base/index.ts';
import type { ToolSurroundings } from '../tool.ts';

type Resolve = ToolSurroundings['resolve'];

/**
 * Opens a file or directory for reading where it really is. A link that took its place since it was judged is not
 * followed, and a pipe that nobody writes to does not hold us up.
 */
export async function openReal(path: string, resolve: Resolve): Promise<FileHandle> {
  const real = await resolve(path, 'read');
  return await openUnmoved(
    real,
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    'read',
    resolve,
  );
}

/**
 * Opens exactly what was judged. The last part of the path cannot be a link; a directory before it may have been swapped
 * for one, so that what was opened is judged again where it turns out to be, if the system tells.
 */
export async function openUnmoved(
  real: string,
  flags: number,
  access: 'read' | 'write',
  resolve: Resolve,
): Promise<FileHandle> {
  const handle = await open(real, flags);
  try {
    const place = await placeOf(handle);
    if (place === undefined || place === real || (await resolve(place, access)) === place) return handle;
    throw new PolypodError('denied', `${real} was moved while it was being opened; try again`);
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

/** Where an open file is. Linux tells; elsewhere it is not known. */
export async function placeOf(handle: FileHandle): Promise<string | undefined> {
  try {
    return await readlink(descriptorPath(handle));
  } catch {
    return undefined;
  }
}

/** A path to what is open that stays right when its directories are renamed or swapped. Linux only. */
export function descriptorPath(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}
