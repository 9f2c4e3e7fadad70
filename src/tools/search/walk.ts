import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type IgnoreRules, isIgnored, pathNames, rulesAbove, rulesForDirectory } from './ignore-rules.ts';

/**
 * Lists the files below a real directory as relative paths, directory by directory in name order, like `rg
 * --files --sort path`: without files that `.gitignore` and `.git/info/exclude` ignore, without hidden files
 * unless requested, never in `.git`, and without following links.
 */
export async function* walk(
  root: string,
  { hidden }: { readonly hidden: boolean },
  signal: AbortSignal,
): AsyncGenerator<string> {
  const rootNames = pathNames(root);
  const waiting: WalkEntry[] = [{ path: '', isDirectory: true, rules: await rulesAbove(root) }];
  for (let current = waiting.pop(); current !== undefined; current = waiting.pop()) {
    signal.throwIfAborted();
    const { path, isDirectory } = current;
    if (!isDirectory) {
      yield path;
      continue;
    }
    const directory = join(root, path);
    const entries = await listEntries(directory);
    const rules = await rulesForDirectory(
      directory,
      (name) => entries.some((entry) => entry.name === name),
      current.rules,
    );
    const names = [...rootNames, ...pathNames(path)];
    const below = entries
      .filter(({ name }) => name !== '.git' && (hidden || !name.startsWith('.')))
      .filter((entry) => entry.isFile() || entry.isDirectory())
      .filter((entry) => !isIgnored(rules, [...names, entry.name], entry.isDirectory()))
      .map((entry) => ({ path: join(path, entry.name), isDirectory: entry.isDirectory(), rules }));
    // A stack, filled one by one: a call accepts only so many arguments.
    for (const next of below.toReversed()) waiting.push(next);
  }
}

/** A directory to visit, or a file, with the rules of its directory. */
interface WalkEntry {
  readonly path: string;
  readonly isDirectory: boolean;
  readonly rules: IgnoreRules | undefined;
}

/** A directory that cannot be read or was deleted counts as empty. */
async function listEntries(directory: string): Promise<readonly Dirent[]> {
  try {
    const entries = await readdir(directory, { withFileTypes: true });
    return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}
