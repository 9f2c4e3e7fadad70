import { type Glob, globMatches, parseGlob } from './glob.ts';

/** One line of a `.gitignore`. */
export interface IgnoreRule {
  readonly glob: Glob;
  readonly verdict: 'ignored' | 'kept';
  readonly directoriesOnly: boolean;
}

/** Parses a `.gitignore` like git. */
export function parseIgnoreFile(text: string): readonly IgnoreRule[] {
  return text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .flatMap(parseLine);
}

/** Returns the verdict of the last matching rule on a path, given as names from the file's own directory on. */
export function ignoreVerdict(
  rules: readonly IgnoreRule[],
  names: readonly string[],
  isDirectory: boolean,
): 'ignored' | 'kept' | undefined {
  return rules.findLast(
    ({ glob, directoriesOnly }) => (isDirectory || !directoriesOnly) && globMatches(glob, names),
  )?.verdict;
}

function parseLine(line: string): readonly IgnoreRule[] {
  // Trailing spaces are ignored, unless the last is escaped.
  const trimmed = line.replace(/(?<!\\)[ \t]+$/, '');
  if (trimmed === '' || trimmed.startsWith('#')) return [];
  const negated = trimmed.startsWith('!');
  const pattern = negated ? trimmed.slice(1) : trimmed;
  const directoriesOnly = pattern.endsWith('/');
  const path = directoriesOnly ? pattern.slice(0, -1) : pattern;
  if (path === '') return [];
  // A slash at the start or in the middle anchors the pattern to the file's directory.
  const isAnchored = path.includes('/');
  const glob = parseGlob(isAnchored ? path.replace(/^\//, '') : `**/${path}`);
  return [{ glob, verdict: negated ? 'kept' : 'ignored', directoriesOnly }];
}
