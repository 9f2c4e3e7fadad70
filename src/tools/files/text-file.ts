import { PolypodError } from '../../base/index.ts';
import type { ToolContext } from '../tool.ts';
import { readBytes } from './file-content.ts';
import { openRealPath } from './real-file.ts';

/** Reads a whole text file, which must be a regular one of limited size. Bytes that are not UTF-8 become U+FFFD. */
export async function readTextFile(
  path: string,
  resolve: ToolContext['resolve'],
  signal: AbortSignal,
): Promise<string> {
  const handle = await openRealPath(path, resolve);
  try {
    if (!(await handle.stat()).isFile())
      throw new PolypodError('bad-request', `${path} is not a regular file`);
    const bytes = await readBytes(handle, MAX_BYTES + 1, signal);
    if (bytes.length <= MAX_BYTES) return bytes.toString('utf8');
    throw new PolypodError('bad-request', `${path} is larger than ${MAX_BYTES} bytes`);
  } finally {
    await handle.close();
  }
}

const MAX_BYTES = 16 * 1024 * 1024;
