import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { nearest, systemCodeOf } from '../../base/index.ts';
import { absolutePath } from '../path-argument.ts';
import type { ToolSurroundings } from '../tool.ts';

/** Undefined for what is not there. */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** The sentence about a file that is not there; it names the one beside it that was likely meant. */
export async function missingText(shown: string, around: ToolSurroundings): Promise<string> {
  const name = await similarName(absolutePath(shown, around.cwd), around);
  const next =
    name === undefined
      ? 'Use ls or find to see what is there.'
      : `Did you mean ${join(dirname(shown), name)}?`;
  return `${shown} does not exist. ${next}`;
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
