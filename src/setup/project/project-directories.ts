import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileFacts } from '../../tools/index.ts';

/**
 * The real directories of a project, outermost first: from the root of the repository to the working directory. Directories
 * above it count only if they and the repository belong to this user: another user could place a repository in /tmp.
 */
export async function projectDirectories(cwd: string): Promise<readonly string[]> {
  const here = await fileFacts.realPath(cwd);
  if (!('real' in here)) return [];
  const directories = [here.real];
  for (let directory = here.real; ; ) {
    const repository = await owner(join(directory, '.git'));
    if (repository !== undefined) return repository === process.getuid?.() ? directories : [here.real];
    const parent = dirname(directory);
    if (parent === directory || !(await isOwn(parent))) return [here.real];
    directory = parent;
    directories.unshift(directory);
  }
}

async function isOwn(path: string): Promise<boolean> {
  return (await owner(path)) === process.getuid?.();
}

async function owner(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ uid }) => uid,
    () => undefined,
  );
}
