import { compilePathGlob, expandBraces, MAX_ALTERNATIVES } from '../../base/index.ts';

/** Which paths below a directory a model requested. */
export interface PathFilter {
  readonly matches: (names: readonly string[]) => boolean;
  /** Whether the pattern names something hidden; otherwise hidden files are skipped. */
  readonly hidden: boolean;
  /** Patterns for the last name of every match; undefined if it can be any. */
  readonly lastNames: readonly string[] | undefined;
}

/** Accepts every path. */
export const EVERY_PATH: PathFilter = { matches: () => true, hidden: false, lastNames: undefined };

/**
 * Parses a pattern like ripgrep: without a slash it matches the name at any depth, otherwise the path from the
 * directory on; `{a,b}` are alternatives, and a leading `!` negates it. Returns an error message for an invalid
 * pattern.
 */
export function parsePathFilter(pattern: string): PathFilter | string {
  if (pattern.length > MAX_LENGTH)
    return `The pattern is longer than ${MAX_LENGTH} characters. Use several calls.`;
  const negated = pattern.startsWith('!');
  const alternatives = expandBraces(pattern.slice(negated ? 1 : 0));
  if (alternatives === undefined)
    return `The pattern ${pattern} has more than ${MAX_ALTERNATIVES} alternatives. Use several calls.`;
  const globs = alternatives.flatMap((alternative) => compilePathGlob(pathGlob(alternative)) ?? []);
  const lastNames = alternatives.map((alternative) => alternative.slice(alternative.lastIndexOf('/') + 1));
  return {
    matches: (names) => globs.some((matches) => matches(names)) !== negated,
    hidden: !negated && alternatives.some((alternative) => /(?:^|\/)\.[^./]/.test(alternative)),
    lastNames: negated || lastNames.includes('**') ? undefined : lastNames,
  };
}

function pathGlob(pattern: string): string {
  const path = pattern.replace(/^(?:\.?\/)+/, '').replace(/\/$/, '/**');
  return path.includes('/') || pattern.startsWith('/') ? path : `**/${path}`;
}

const MAX_LENGTH = 4_096;
