import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf, PolypodError, systemCodeOf } from '../../base/index.ts';

/** Resolves the path of an existing directory; throws if it is missing or not a directory. */
export async function existingDirectory(path: string): Promise<string> {
  const full = resolve(path);
  const found = await stat(full).catch((thrown: unknown) => {
    const isMissing = systemCodeOf(thrown) === 'ENOENT';
    const problem = isMissing ? 'there is no such directory: create it, or name another' : messageOf(thrown);
    throw new PolypodError('not-found', `cannot work in ${path}: ${problem}`, { cause: thrown });
  });
  if (!found.isDirectory())
    throw new PolypodError('bad-request', `cannot work in ${path}: it is not a directory`);
  return full;
}
