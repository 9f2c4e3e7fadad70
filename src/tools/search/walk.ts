import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { type IgnoreRules, isIgnored, rulesAbove, rulesForDirectory } from './ignore-rules.ts';

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
  const waiting: WalkEntry[] = [{ path: '', isDirectory: true, rules: await rulesAbove(root, signal) }];
  let lastPause = performance.now();
  for (let current = waiting.pop(); current !== undefined; current = waiting.pop()) {
    // Thousands of entries of a directory, each matched against thousands of rules, must not block the process.
    if (performance.now() - lastPause > PAUSE_AFTER_MS) {
      await setImmediate();
      lastPause = performance.now();
    }
    signal.throwIfAborted();
    const { path, isDirectory } = current;
    const full = below(root, path);
    if (path !== '' && isIgnored(current.rules, full, isDirectory)) continue;
    if (!isDirectory) {
      yield path;
      continue;
    }
    const entries = await listEntries(full);
    const rules = await rulesForDirectory(
      full,
      (name) => entries.some((entry) => entry.name === name),
      current.rules,
      signal,
    );
    const found = entries
      .filter(({ name }) => name !== '.git' && (hidden || !name.startsWith('.')))
      .filter((entry) => entry.isFile() || entry.isDirectory())
      .map((entry) => ({ path: below(path, entry.name), isDirectory: entry.isDirectory(), rules }));
    // A stack, filled one by one: a call accepts only so many arguments.
    for (const next of found.toReversed()) waiting.push(next);
  }
}

const PAUSE_AFTER_MS = 20;

/** Joins two paths of which neither needs to be normalized. */
function below(directory: string, path: string): string {
  if (directory === '' || path === '') return directory + path;
  return directory.endsWith('/') ? directory + path : `${directory}/${path}`;
}

/** A file or a directory, with the rules of the directory that contains it. */
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
