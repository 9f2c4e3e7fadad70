/** A glob for a name or a path, split at slashes. */
export type Glob = readonly Segment[];

type Segment =
  /** `**`: any number of names; at least one at the end. */
  | { readonly type: 'any-depth' }
  /** Without wildcards. */
  | { readonly type: 'name'; readonly name: string }
  | { readonly type: 'pattern'; readonly tokens: readonly Token[] };

type Token =
  | { readonly type: 'character'; readonly character: string }
  /** `?` */
  | { readonly type: 'one' }
  /** `*` */
  | { readonly type: 'many' }
  | { readonly type: 'class'; readonly negated: boolean; readonly ranges: readonly Range[] };

/** An inclusive range of characters. */
type Range = readonly [string, string];

/** Parses a glob of `*`, `?`, `[a-z]`, `[!a-z]`, `\` before a literal character, and `**` as a name. */
export function parseGlob(pattern: string): Glob {
  return pattern.split('/').map(parseSegment);
}

/**
 * Returns whether a path, as a list of names, matches. Takes at most time proportional to the product of their
 * lengths.
 */
export function globMatches(glob: Glob, names: readonly string[]): boolean {
  return wildcardMatches(
    glob,
    names.length,
    ({ type }) => type === 'any-depth',
    (segment, index) => segmentMatches(segment, names[index] ?? ''),
    glob.at(-1)?.type === 'any-depth',
  );
}

function segmentMatches(segment: Segment, name: string): boolean {
  if (segment.type === 'name') return segment.name === name;
  if (segment.type === 'any-depth') return true;
  return wildcardMatches(
    segment.tokens,
    name.length,
    ({ type }) => type === 'many',
    (token, index) => tokenMatches(token, name[index] ?? ''),
    false,
  );
}

/**
 * Matches parts, some of which match any number of items, against items. Only the last of those has to be
 * retried, so no pattern takes long, unlike with a regular expression.
 */
function wildcardMatches<Part>(
  parts: readonly Part[],
  length: number,
  isMany: (part: Part) => boolean,
  matches: (part: Part, index: number) => boolean,
  needsOneAtEnd: boolean,
): boolean {
  let [at, index] = [0, 0];
  let [manyAt, manyIndex] = [-1, 0];
  while (index < length) {
    const part = parts[at];
    if (part !== undefined && isMany(part)) {
      [manyAt, manyIndex] = [at, index];
      at += 1;
      // The last one matches the rest, which is not empty here.
      if (at === parts.length) return true;
    } else if (part !== undefined && matches(part, index)) {
      [at, index] = [at + 1, index + 1];
    } else if (manyAt !== -1) {
      manyIndex += 1;
      [at, index] = [manyAt + 1, manyIndex];
    } else return false;
  }
  while (at < parts.length && isRestWildcard(parts, at, isMany)) at += 1;
  return at === parts.length && !needsOneAtEnd;
}

function isRestWildcard<Part>(parts: readonly Part[], at: number, isMany: (part: Part) => boolean): boolean {
  const part = parts[at];
  return part !== undefined && isMany(part);
}

function tokenMatches(token: Token, character: string): boolean {
  if (token.type === 'character') return token.character === character;
  if (token.type === 'class')
    return token.ranges.some(([from, to]) => from <= character && character <= to) !== token.negated;
  return true;
}

function parseSegment(segment: string): Segment {
  if (segment === '**') return { type: 'any-depth' };
  const tokens: Token[] = [];
  for (let at = 0; at < segment.length; ) {
    const [token, length] = parseToken(segment, at);
    // Two stars in a name are one.
    if (token.type !== 'many' || tokens.at(-1)?.type !== 'many') tokens.push(token);
    at += length;
  }
  const characters = tokens.flatMap((token) => (token.type === 'character' ? [token.character] : []));
  return characters.length === tokens.length
    ? { type: 'name', name: characters.join('') }
    : { type: 'pattern', tokens };
}

/** Returns the token at a position and its length. */
function parseToken(segment: string, at: number): readonly [Token, number] {
  const character = segment[at] ?? '';
  if (character === '*') return [{ type: 'many' }, 1];
  if (character === '?') return [{ type: 'one' }, 1];
  if (character === '[') return parseClass(segment, at) ?? [{ type: 'character', character }, 1];
  const escaped = character === '\\' ? segment[at + 1] : undefined;
  return escaped === undefined
    ? [{ type: 'character', character }, 1]
    : [{ type: 'character', character: escaped }, 2];
}

/** Returns undefined if the bracket is never closed: then it is literal. */
function parseClass(segment: string, at: number): readonly [Token, number] | undefined {
  const [all, negation, body = ''] = /^\[([!^]?)(\]?(?:\\.|[^\]\\])*)\]/s.exec(segment.slice(at)) ?? [];
  if (all === undefined || body === '') return undefined;
  const characters = [...body.matchAll(/\\(.)|([^])/gs)].map(([, escaped, plain]) => ({
    character: escaped ?? plain ?? '',
    isDash: plain === '-',
  }));
  const ranges: Range[] = [];
  for (let index = 0; index < characters.length; ) {
    const from = characters[index]?.character ?? '';
    const to = characters[index + 2]?.character;
    const isRange = characters[index + 1]?.isDash === true && to !== undefined;
    ranges.push([from, isRange ? to : from]);
    index += isRange ? 3 : 1;
  }
  return [{ type: 'class', negated: negation !== '', ranges }, all.length];
}
