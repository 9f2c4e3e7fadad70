import { lstat, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type IgnoreRule, parseIgnoreFile, verdictOf } from './ignore-file.ts';

/** The ignore files of one directory, and those of the directories above it in the same repository. */
export interface IgnoreRules {
  readonly above: IgnoreRules | undefined;
  /** How many names lead from `/` to the directory. */
  readonly depth: number;
  readonly ignore: readonly IgnoreRule[];
  /** Of `.git/info/exclude`: they count less than any `.gitignore`. */
  readonly exclude: readonly IgnoreRule[];
}

/** Whether a path, as the names from `/` on, is ignored. Its directories are taken for not ignored. */
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

/** The nearest file that has something to say decides. */
function verdictBy(
  kind: 'ignore' | 'exclude',
  rules: IgnoreRules | undefined,
  names: readonly string[],
  isDirectory: boolean,
): 'ignored' | 'kept' | undefined {
  for (let level = rules; level !== undefined; level = level.above) {
    if (level[kind].length === 0) continue;
    const verdict = verdictOf(level[kind], names.slice(level.depth), isDirectory);
    if (verdict !== undefined) return verdict;
  }
  return undefined;
}

/** The rules for what is in a directory; a repository does not care for those of another around it. */
export async function rulesIn(
  directory: string,
  hasFile: (name: '.git' | '.gitignore') => boolean,
  above: IgnoreRules | undefined,
): Promise<IgnoreRules | undefined> {
  const isRepository = hasFile('.git');
  const outer = isRepository ? undefined : above;
  if (!isRepository && !hasFile('.gitignore')) return outer;
  return {
    above: outer,
    depth: namesOf(directory).length,
    ignore: await rulesFrom(join(directory, '.gitignore')),
    exclude: isRepository ? await rulesFrom(join(directory, '.git', 'info', 'exclude')) : [],
  };
}

/** The rules of the directories above one, up to where its repository starts. */
export async function rulesAbove(directory: string): Promise<IgnoreRules | undefined> {
  const above = dirname(directory);
  if (above === directory || (await isThere(join(directory, '.git')))) return undefined;
  const isRepository = await isThere(join(above, '.git'));
  return await rulesIn(above, (name) => name === '.gitignore' || isRepository, await rulesAbove(above));
}

/** The names that lead from `/` to a path. */
export function namesOf(path: string): readonly string[] {
  return path.split('/').filter((name) => name !== '');
}

/** An ignore file that is not there, or cannot be read, ignores nothing. */
async function rulesFrom(file: string): Promise<readonly IgnoreRule[]> {
  try {
    return parseIgnoreFile(await readFile(file, 'utf8'));
  } catch {
    return [];
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch {
    return false;
  }
}
