import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { nearest, PolypodError, systemCodeOf } from '../base/index.ts';
import { absolutePath } from './path-argument.ts';
import type { ToolSurroundings } from './tool.ts';

/** Runs work on a file that has to be there; if it is not, the refusal names the one beside it that was likely meant. */
export async function onExistingFile<T>(
  shown: string,
  around: ToolSurroundings,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (systemCodeOf(thrown) !== 'ENOENT') throw thrown;
    const name = await similarName(absolutePath(shown, around.cwd), around);
    if (name === undefined) throw thrown;
    const guess = join(dirname(shown), name);
    throw new PolypodError('not-found', `${shown} does not exist. Did you mean ${guess}?`, { cause: thrown });
  }
}

async function similarName(path: string, around: ToolSurroundings): Promise<string | undefined> {
  try {
    const directory = await around.resolve(dirname(path), 'read');
    return nearest(basename(path), (await readdir(directory)).slice(0, MOST_NAMES));
  } catch {
    // Without a directory that we may look into there is nothing to suggest; the file is missing all the same.
    return undefined;
  }
}

const MOST_NAMES = 2_000;
