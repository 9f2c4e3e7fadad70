import { readFile, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isInside } from '../../tools/index.ts';
import { withParents } from './settings.ts';

/**
 * Reads the `AGENTS.md` files from the root of the repository down to the working directory, as Codex does in a project that is
 * trusted. A link to a file outside the repository is not followed.
 */
export async function projectInstructions(cwd: string): Promise<string | undefined> {
  const directories = await directoriesOf(cwd);
  const [root = cwd] = directories;
  const parts: string[] = [];
  let left = MAX_BYTES;
  for (const directory of directories) {
    const text = (await firstText(directory, root)).slice(0, left);
    left -= text.length;
    if (text !== '')
      parts.push(`# AGENTS.md instructions for ${directory}\n\n<INSTRUCTIONS>\n${text}\n</INSTRUCTIONS>`);
  }
  return parts.length === 0 ? undefined : parts.join('\n\n');
}

/** The directories from the root of the repository to the working directory; only the latter outside a repository. */
async function directoriesOf(cwd: string): Promise<readonly string[]> {
  const upwards = withParents(cwd);
  for (const [at, directory] of upwards.entries())
    if (await exists(join(directory, '.git'))) return upwards.slice(0, at + 1).toReversed();
  return [cwd];
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

async function firstText(directory: string, root: string): Promise<string> {
  for (const name of ['AGENTS.override.md', 'AGENTS.md']) {
    const text = await textIn(join(directory, name), root);
    if (text.trim() !== '') return text;
  }
  return '';
}

async function textIn(path: string, root: string): Promise<string> {
  try {
    const real = await realpath(path);
    const { size } = await stat(real);
    if (!isInside(await realpath(root), real) || size > MAX_FILE_BYTES) return '';
    return await readFile(real, 'utf8');
  } catch {
    return '';
  }
}

/** The limit of Codex. */
const MAX_BYTES = 32 * 1024;
const MAX_FILE_BYTES = 1024 * 1024;
