import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type IgnoreRules, isIgnored, namesOf, rulesAbove, rulesIn } from './ignore-rules.ts';

/**
 * The files below a real directory as paths from there, directory by directory in the order of their names, as
 * `rg --files --sort path` lists them: without what `.gitignore` and `.git/info/exclude` ignore, without hidden files
 * unless they are asked for, never into `.git`, and not through links.
 */
export async function* walk(
  root: string,
  { hidden }: { readonly hidden: boolean },
  signal: AbortSignal,
): AsyncGenerator<string> {
  const rootNames = namesOf(root);
  const waiting: Place[] = [{ path: '', isDirectory: true, rules: await rulesAbove(root) }];
  for (let place = waiting.pop(); place !== undefined; place = waiting.pop()) {
    signal.throwIfAborted();
    const { path, isDirectory } = place;
    if (!isDirectory) {
      yield path;
      continue;
    }
    const directory = join(root, path);
    const entries = await entriesOf(directory);
    const rules = await rulesIn(
      directory,
      (name) => entries.some((entry) => entry.name === name),
      place.rules,
    );
    const names = [...rootNames, ...namesOf(path)];
    const below = entries
      .filter(({ name }) => name !== '.git' && (hidden || !name.startsWith('.')))
      .filter((entry) => entry.isFile() || entry.isDirectory())
      .filter((entry) => !isIgnored(rules, [...names, entry.name], entry.isDirectory()))
      .map((entry) => ({ path: join(path, entry.name), isDirectory: entry.isDirectory(), rules }));
    // The last is taken first. One by one: a call takes only so many arguments.
    for (const next of below.toReversed()) waiting.push(next);
  }
}

/** A directory to look into, or a file, with the rules of the directory it is in. */
interface Place {
  readonly path: string;
  readonly isDirectory: boolean;
  readonly rules: IgnoreRules | undefined;
}

/** A directory that cannot be read, or is gone by now, has nothing in it for us. */
async function entriesOf(directory: string): Promise<readonly Dirent[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}
