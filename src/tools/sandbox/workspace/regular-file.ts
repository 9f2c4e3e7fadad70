import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/**
 * Returns the text of a file that a command may have created: a link, a pipe or a device is not read. Undefined
 * for those, for files that are too large, and for missing ones.
 */
export function regularFileText(path: string, maxBytes = 4 * 1024 * 1024): string | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stats = fstatSync(fd);
    if (!stats.isFile() || stats.size > maxBytes) return undefined;
    const bytes = Buffer.alloc(stats.size);
    const length = readSync(fd, bytes, 0, stats.size, 0);
    return bytes.toString('utf8', 0, length);
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
