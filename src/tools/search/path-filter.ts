import { type Glob, globMatches, parseGlob } from './glob.ts';

/** Which paths below a directory a model asked for. */
export interface PathFilter {
  readonly matches: (names: readonly string[]) => boolean;
  /** Whether the pattern names something hidden; without that, hidden files are not looked at. */
  readonly hidden: boolean;
  /** Patterns for the last name of all that matches; undefined when it can be any. */
  readonly lastNames: readonly string[] | undefined;
}

/** What lets every path through. */
export const EVERY_PATH: PathFilter = { matches: () => true, hidden: false, lastNames: undefined };

/**
 * Reads a pattern as ripgrep does: without a slash it is for the name at any depth, else for the path from the directory
 * on; `{a,b}` are alternatives, and a leading `!` turns it round. A sentence when it cannot be read.
 */
export function parsePathFilter(pattern: string): PathFilter | string {
  const negated = pattern.startsWith('!');
  const alternatives = expandBraces(pattern.slice(negated ? 1 : 0));
  if (alternatives === undefined)
    return `The pattern ${pattern} has more than ${MOST_ALTERNATIVES} alternatives. Use several calls.`;
  const globs = alternatives.map(globOf);
  const lastNames = alternatives.map((alternative) => alternative.slice(alternative.lastIndexOf('/') + 1));
  return {
    matches: (names) => globs.some((glob) => globMatches(glob, names)) !== negated,
    hidden: !negated && alternatives.some((alternative) => /(?:^|\/)\.[^./]/.test(alternative)),
    lastNames: negated || lastNames.includes('**') ? undefined : lastNames,
  };
}

function globOf(pattern: string): Glob {
  const path = pattern.replace(/^(?:\.?\/)+/, '').replace(/\/$/, '/**');
  return parseGlob(path.includes('/') || pattern.startsWith('/') ? path : `**/${path}`);
}

/** `a{b,c{d,e}}` is `ab`, `acd`, `ace`; undefined when there are too many. Braces without a comma mean themselves. */
function expandBraces(pattern: string): readonly string[] | undefined {
  const done: string[] = [];
  for (const waiting = [pattern]; waiting.length > 0; ) {
    const next = waiting.pop() ?? '';
    // The innermost first: what it holds has no braces of its own.
    const [all, before = '', body = '', after = ''] = /^(.*?)\{([^{}]*,[^{}]*)\}(.*)$/s.exec(next) ?? [];
    if (all === undefined) done.push(next);
    else waiting.push(...body.split(',').map((choice) => `${before}${choice}${after}`));
    if (done.length + waiting.length > MOST_ALTERNATIVES) return undefined;
  }
  return done;
}

const MOST_ALTERNATIVES = 200;
