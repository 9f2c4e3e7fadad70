import { constants } from 'node:fs';
import { access, open } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileFacts, isInside, isSecret } from '../../tools/index.ts';

/**
 * The instructions of the project for Claude Code, from the root of the repository to the working directory. Claude Code reads them
 * itself only together with the project's settings.
 */
export async function projectInstructions(cwd: string): Promise<string> {
  const directories = await projectDirectories(cwd);
  const [root = cwd] = directories;
  const texts = await Promise.all(
    directories.map(async (directory) => {
      for (const name of FILES) {
        const text = await readInside(root, join(directory, name));
        if (text !== undefined && text.trim() !== '')
          return [
            `Instructions of the project, from ${relative(cwd, join(directory, name))}:\n\n${text.trim()}`,
          ];
      }
      return [];
    }),
  );
  return texts.flat().join('\n\n');
}

/** From the root of the repository on; only the working directory if there is no repository. */
async function projectDirectories(cwd: string): Promise<readonly string[]> {
  const found = await fileFacts.realPath(cwd);
  const start = 'real' in found ? found.real : cwd;
  const directories: string[] = [];
  for (let directory = start; ; directory = dirname(directory)) {
    directories.unshift(directory);
    const isRoot = await access(join(directory, '.git')).then(
      () => true,
      () => false,
    );
    if (isRoot) return directories;
    if (dirname(directory) === directory) return [start];
  }
}

/** Undefined for a file outside the project: a link could otherwise send any file to the model. */
async function readInside(root: string, path: string): Promise<string | undefined> {
  const found = await fileFacts.realPath(path);
  if (!('real' in found) || !isInside(root, found.real) || isSecret(found.real)) return undefined;
  // O_NONBLOCK, because opening a pipe would wait for its writer.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(found.real, flags).catch(() => undefined);
  if (handle === undefined) return undefined;
  try {
    const { size } = await handle.stat();
    if (!(await handle.stat()).isFile()) return undefined;
    const buffer = Buffer.alloc(Math.min(size, MAX_BYTES));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** The first that exists is used. */
const FILES = ['CLAUDE.md', 'AGENTS.md'];
const MAX_BYTES = 100_000;
