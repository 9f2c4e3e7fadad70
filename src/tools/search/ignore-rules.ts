import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import type { Ignore } from 'ignore';
import { readBytes, startsWithBom } from '../files/file-content.ts';

/**
 * The rules of `.gitignore` and `.git/info/exclude` that apply to the entries of a directory, in the order of their
 * priority: those of its repository, and those of all directories down to it.
 */
export interface IgnoreRules {
  /** The root of the repository, or else the outermost directory with rules. */
  readonly base: string;
  readonly rules: Ignore;
  readonly count: number;
}

/** Returns whether a path is ignored, or a directory that leads to it. */
export function isIgnored(ignoreRules: IgnoreRules | undefined, path: string, isDirectory: boolean): boolean {
  if (ignoreRules === undefined) return false;
  const below = path.slice(ignoreRules.base === '/' ? 1 : ignoreRules.base.length + 1);
  if (below.length > 2 * MAX_DEPTH && below.split('/').length > MAX_DEPTH) return false;
  return ignoreRules.rules.ignores(bytesOf(isDirectory ? `${below}/` : below));
}

/** Returns the rules for the entries of a directory; a repository ignores the rules of one around it. */
export async function rulesForDirectory(
  directory: string,
  hasFile: (name: '.git' | '.gitignore') => boolean,
  above: IgnoreRules | undefined,
  signal: AbortSignal,
): Promise<IgnoreRules | undefined> {
  const isRepository = hasFile('.git');
  const outer = isRepository ? undefined : above;
  const lines = [
    ...(isRepository ? await readLines(join(directory, '.git', 'info', 'exclude'), signal) : []),
    ...(hasFile('.gitignore') ? await readLines(join(directory, '.gitignore'), signal) : []),
  ];
  const added = lines.slice(0, MAX_RULES - (outer?.count ?? 0));
  return added.length === 0 ? outer : await addRules(outer, directory, added);
}

/** Returns the rules of the parents of a directory, up to the root of its repository. */
export async function rulesAbove(directory: string, signal: AbortSignal): Promise<IgnoreRules | undefined> {
  const rules = await rulesOfParents(directory, signal);
  if (rules === undefined) return undefined;
  // A directory that is searched by name is not ignored, even if a rule matches it or one of its parents.
  const names = relative(rules.base, directory).split('/');
  const kept = names.map(
    (_, index) =>
      `!/${names
        .slice(0, index + 1)
        .map(escapeName)
        .join('/')}/`,
  );
  return await addRules(rules, rules.base, kept);
}

async function rulesOfParents(directory: string, signal: AbortSignal): Promise<IgnoreRules | undefined> {
  const above = dirname(directory);
  if (above === directory || (await exists(join(directory, '.git')))) return undefined;
  const isRepository = await exists(join(above, '.git'));
  return await rulesForDirectory(
    above,
    (name) => name === '.gitignore' || isRepository,
    await rulesOfParents(above, signal),
    signal,
  );
}

/** Later rules have priority. */
async function addRules(
  outer: IgnoreRules | undefined,
  directory: string,
  lines: readonly string[],
): Promise<IgnoreRules> {
  // Loaded on demand: it takes 20 ms, and ripgrep does not need it.
  const { default: createIgnore } = await import('ignore');
  const base = outer?.base ?? directory;
  const prefix = relative(base, directory).split('/').map(escapeName).join('/');
  const added = lines.map((line) => (prefix === '' ? line : belowDirectory(line, prefix)));
  const rules = createIgnore({ ignoreCase: false });
  if (outer !== undefined) rules.add(outer.rules);
  return { base, rules: rules.add(added), count: (outer?.count ?? 0) + added.length };
}

/** Returns a rule of a directory as a rule of a directory above it. */
function belowDirectory(line: string, prefix: string): string {
  const [, negation = '', body = ''] = /^(!?)(.*)$/s.exec(line) ?? [];
  // A slash at the start or in the middle anchors the rule to its directory.
  const isAnchored = /\/(?! *$)/.test(body);
  return `${negation}/${prefix}/${isAnchored ? body.replace(/^\//, '') : `**/${body}`}`;
}

function escapeName(name: string): string {
  return bytesOf(name).replace(/[\\*?[]/g, (character) => `\\${character}`);
}

/** Git compares bytes: `?` does not match `é`. Here, each byte is a character. */
function bytesOf(text: string): string {
  return /[^\0-\x7f]/.test(text) ? Buffer.from(text).toString('latin1') : text;
}

/** A missing or unreadable file has no rules. Like git, this does not follow links. */
async function readLines(file: string, signal: AbortSignal): Promise<readonly string[]> {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      if (!(await handle.stat()).isFile()) return [];
      const bytes = await readBytes(handle, MAX_FILE_BYTES, signal);
      const lines = bytes.toString('latin1', startsWithBom(bytes) ? 3 : 0).split(/\r?\n/);
      return lines.map(withoutRepeatedStars).filter(isUsable);
    } finally {
      await handle.close();
    }
  } catch {
    return [];
  }
}

function withoutRepeatedStars(line: string): string {
  return line.replace(/(^!?|\/)(?:\*{2,}\/)+/g, '$1**/');
}

/**
 * Rules become regular expressions. For each further `**`, such an expression tries as many more ways to match as a path has
 * names; a very long one does not compile.
 */
function isUsable(line: string): boolean {
  const body = line.replace(/^!/, '').replace(/ +$/, '');
  if (body === '' || /^\/+$/.test(body) || line.startsWith('#')) return false;
  return line.length <= MAX_RULE_LENGTH && [...line.matchAll(/\*{2,}\//g)].length <= MAX_DOUBLE_STARS;
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch {
    return false;
  }
}

const MAX_FILE_BYTES = 1024 * 1024;
const MAX_RULES = 10_000;
const MAX_RULE_LENGTH = 1_000;
const MAX_DOUBLE_STARS = 2;
/** Rules do not apply to paths with more names than this. */
const MAX_DEPTH = 100;
