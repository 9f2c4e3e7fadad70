import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { nearestMatch, systemCodeOf } from '../../base/index.ts';
import { absolutePath } from '../path-argument.ts';
import type { ToolContext } from '../tool.ts';

/** Returns undefined if the file does not exist. */
export async function ifExists<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** Returns the error for a missing file; it suggests a similar name in the same directory. */
export async function missingFileText(label: string, context: ToolContext): Promise<string> {
  const name = await similarName(absolutePath(label, context.cwd), context);
  const hint =
    name === undefined
      ? 'Use ls or find to see what is there.'
      : `Did you mean ${join(dirname(label), name)}?`;
  return `${label} does not exist. ${hint}`;
}

async function similarName(path: string, context: ToolContext): Promise<string | undefined> {
  try {
    const directory = await context.resolve(dirname(path), 'read');
    return nearestMatch(basename(path), (await readdir(directory)).slice(0, MAX_NAMES));
  } catch {
    // Without a readable directory there is no suggestion.
    return undefined;
  }
}

const MAX_NAMES = 2_000;
