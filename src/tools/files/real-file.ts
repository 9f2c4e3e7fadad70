import { constants } from 'node:fs';
import { type FileHandle, open, readlink } from 'node:fs/promises';
import { PolypodError } from '../../base/index.ts';
import type { ToolContext } from '../tool.ts';

type Resolve = ToolContext['resolve'];

/**
 * Opens a file or directory for reading at its real path. A link that replaced it since the policy check is not
 * followed, and a pipe without a writer does not block.
 */
export async function openRealPath(path: string, resolve: Resolve): Promise<FileHandle> {
  const real = await resolve(path, 'read');
  return await openChecked(
    real,
    constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    'read',
    resolve,
  );
}

/**
 * Opens exactly the file that the policy checked. The last path segment cannot be a link; a parent directory
 * may have been replaced by one, so the opened path is checked again if the system reports it.
 */
export async function openChecked(
  real: string,
  flags: number,
  access: 'read' | 'write',
  resolve: Resolve,
): Promise<FileHandle> {
  const handle = await open(real, flags);
  try {
    const openedPath = await openFilePath(handle);
    if (openedPath === undefined || openedPath === real || (await resolve(openedPath, access)) === openedPath)
      return handle;
    throw new PolypodError('denied', `${real} was moved while it was being opened; try again`);
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

/** Returns the path of an open file; known on Linux only. */
export async function openFilePath(handle: FileHandle): Promise<string | undefined> {
  try {
    return await readlink(descriptorPath(handle));
  } catch {
    return undefined;
  }
}

/** Returns a path to the open file that stays valid if its directories are renamed or replaced. Linux only. */
export function descriptorPath(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}
