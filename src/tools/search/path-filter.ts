import { type Glob, globMatches, parseGlob } from './glob.ts';

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
  const negated = pattern.startsWith('!');
  const alternatives = expandBraces(pattern.slice(negated ? 1 : 0));
  if (alternatives === undefined)
    return `The pattern ${pattern} has more than ${MAX_ALTERNATIVES} alternatives. Use several calls.`;
  const globs = alternatives.map(compileGlob);
  const lastNames = alternatives.map((alternative) => alternative.slice(alternative.lastIndexOf('/') + 1));
  return {
    matches: (names) => globs.some((glob) => globMatches(glob, names)) !== negated,
    hidden: !negated && alternatives.some((alternative) => /(?:^|\/)\.[^./]/.test(alternative)),
    lastNames: negated || lastNames.includes('**') ? undefined : lastNames,
  };
}

function compileGlob(pattern: string): Glob {
  const path = pattern.replace(/^(?:\.?\/)+/, '').replace(/\/$/, '/**');
  return parseGlob(path.includes('/') || pattern.startsWith('/') ? path : `**/${path}`);
}

/**
 * Expands `a{b,c{d,e}}` to `ab`, `acd`, `ace`; undefined if there are too many. Braces without a comma are
 * literal.
 */
function expandBraces(pattern: string): readonly string[] | undefined {
  const expanded: string[] = [];
  for (const waiting = [pattern]; waiting.length > 0; ) {
    const next = waiting.pop() ?? '';
    // Innermost first: its content contains no braces.
    const [all, before = '', body = '', after = ''] = /^(.*?)\{([^{}]*,[^{}]*)\}(.*)$/s.exec(next) ?? [];
    if (all === undefined) expanded.push(next);
    else waiting.push(...body.split(',').map((choice) => `${before}${choice}${after}`));
    if (expanded.length + waiting.length > MAX_ALTERNATIVES) return undefined;
  }
  return expanded;
}

const MAX_ALTERNATIVES = 200;
