import { lstat, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type IgnoreRule, parseIgnoreFile, ignoreVerdict } from './ignore-file.ts';

/** The ignore rules of one directory, and those of its parents in the same repository. */
export interface IgnoreRules {
  readonly above: IgnoreRules | undefined;
  /** How many names lead from `/` to the directory. */
  readonly depth: number;
  readonly ignore: readonly IgnoreRule[];
  /** From `.git/info/exclude`: they have lower priority than any `.gitignore`. */
  readonly exclude: readonly IgnoreRule[];
}

/** Returns whether a path, as names from `/` on, is ignored. Its directories are assumed not to be ignored. */
export function isIgnored(
  rules: IgnoreRules | undefined,
  names: readonly string[],
  isDirectory: boolean,
): boolean {
  return (
    (verdictBy('ignore', rules, names, isDirectory) ?? verdictBy('exclude', rules, names, isDirectory)) ===
    'ignored'
  );
}

/** The nearest file with a matching rule decides. */
function verdictBy(
  kind: 'ignore' | 'exclude',
  rules: IgnoreRules | undefined,
  names: readonly string[],
  isDirectory: boolean,
): 'ignored' | 'kept' | undefined {
  for (let level = rules; level !== undefined; level = level.above) {
    if (level[kind].length === 0) continue;
    const verdict = ignoreVerdict(level[kind], names.slice(level.depth), isDirectory);
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}

/** Returns the rules for the entries of a directory; a repository ignores the rules of one around it. */
export async function rulesForDirectory(
  directory: string,
  hasFile: (name: '.git' | '.gitignore') => boolean,
  above: IgnoreRules | undefined,
): Promise<IgnoreRules | undefined> {
  const isRepository = hasFile('.git');
  const outer = isRepository ? undefined : above;
  if (!isRepository && !hasFile('.gitignore')) return outer;
  return {
    above: outer,
    depth: pathNames(directory).length,
    ignore: await readRules(join(directory, '.gitignore')),
    exclude: isRepository ? await readRules(join(directory, '.git', 'info', 'exclude')) : [],
  };
}

/** Returns the rules of the parents of a directory, up to the root of its repository. */
export async function rulesAbove(directory: string): Promise<IgnoreRules | undefined> {
  const above = dirname(directory);
  if (above === directory || (await exists(join(directory, '.git')))) return undefined;
  const isRepository = await exists(join(above, '.git'));
  return await rulesForDirectory(
    above,
    (name) => name === '.gitignore' || isRepository,
    await rulesAbove(above),
  );
}

/** Returns the names that lead from `/` to a path. */
export function pathNames(path: string): readonly string[] {
  return path.split('/').filter((name) => name !== '');
}

/** A missing or unreadable ignore file ignores nothing. */
async function readRules(file: string): Promise<readonly IgnoreRule[]> {
  try {
    return parseIgnoreFile(await readFile(file, 'utf8'));
  } catch {
    return [];
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch {
    return false;
  }
}
