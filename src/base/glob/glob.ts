import { expandBraces } from './braces.ts';

/** Returns whether a path, as a list of names, matches. */
export type PathMatcher = (names: readonly string[]) => boolean;

/** Returns whether a whole text matches. */
export type TextMatcher = (text: string) => boolean;

export interface GlobOptions {
  readonly ignoreCase?: boolean;
}

/**
 * Compiles a glob for paths. In a name, `*` matches any characters, `?` one, `[a-z]` one of these and `[!a-z]` one of the
 * others; `**` as a name matches any number of names, at the end at least one; `{a,b}` are alternatives; a backslash makes
 * the next character literal. Returns undefined for a glob with too many alternatives. Matching takes at most time
 * proportional to the product of the lengths of glob and path, so that nobody can block the process with either.
 */
export function compilePathGlob(
  glob: string,
  { ignoreCase = false }: GlobOptions = {},
): PathMatcher | undefined {
  const globs = expandBraces(glob)?.map((one) =>
    splitNames(one).map((name) => parseSegment(name, ignoreCase)),
  );
  return globs && ((names) => globs.some((segments) => pathMatches(segments, names)));
}

/** Compiles a glob for names that are not paths, such as those of tools and models: `*` also matches slashes. */
export function compileNameGlob(
  glob: string,
  { ignoreCase = false }: GlobOptions = {},
): TextMatcher | undefined {
  const patterns = expandBraces(glob)?.map((one) => parseTokens(one, ignoreCase));
  return patterns && ((name) => patterns.some((tokens) => textMatches(tokens, name, ignoreCase)));
}

/** Compiles a text in which only the characters at these positions are wildcards: `*` or `?`. */
export function compileWildcards(text: string, wild: readonly number[]): TextMatcher {
  const tokens = text.split('').map((character, index): Token => {
    if (!wild.includes(index)) return { type: 'character', character };
    return { type: character === '*' ? 'many' : 'one' };
  });
  return (candidate) => tokensMatch(tokens, candidate);
}

/** Returns the glob that matches only this text. */
export function escapeGlob(text: string): string {
  return text.replace(/[\\*?[\]{}]/g, (character) => `\\${character}`);
}

type Segment =
  /** `**` */
  | { readonly type: 'any-depth' }
  /** Without wildcards. */
  | { readonly type: 'name'; readonly name: string }
  | { readonly type: 'pattern'; readonly tokens: readonly Token[]; readonly ignoreCase: boolean };

type Token =
  | { readonly type: 'character'; readonly character: string }
  /** `?` */
  | { readonly type: 'one' }
  /** `*` */
  | { readonly type: 'many' }
  | { readonly type: 'class'; readonly negated: boolean; readonly ranges: readonly Range[] };

/** An inclusive range of characters. */
type Range = readonly [string, string];

/** An escaped slash also separates names. */
function splitNames(glob: string): readonly string[] {
  return glob.replace(/\\([^])/g, (pair, character) => (character === '/' ? '/' : pair)).split('/');
}

function pathMatches(segments: readonly Segment[], names: readonly string[]): boolean {
  return wildcardMatches(
    segments,
    names.length,
    ({ type }) => type === 'any-depth',
    (segment, index) => segmentMatches(segment, names[index] ?? ''),
    segments.at(-1)?.type === 'any-depth',
  );
}

function segmentMatches(segment: Segment, name: string): boolean {
  if (segment.type === 'name') return segment.name === name;
  return segment.type === 'any-depth' || textMatches(segment.tokens, name, segment.ignoreCase);
}

function textMatches(tokens: readonly Token[], text: string, ignoreCase: boolean): boolean {
  if (ignoreCase) return tokensMatch(tokens, Array.from(text, foldCase));
  // A character beyond U+FFFF is two units of a string.
  return tokensMatch(tokens, /[\ud800-\udbff]/.test(text) ? Array.from(text) : text);
}

function tokensMatch(tokens: readonly Token[], characters: ArrayLike<string>): boolean {
  return wildcardMatches(
    tokens,
    characters.length,
    ({ type }) => type === 'many',
    (token, index) => tokenMatches(token, characters[index] ?? ''),
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
  return !needsOneAtEnd && parts.slice(at).every(isMany);
}

function tokenMatches(token: Token, character: string): boolean {
  if (token.type === 'character') return token.character === character;
  if (token.type === 'class')
    return token.ranges.some(([from, to]) => from <= character && character <= to) !== token.negated;
  return true;
}

function parseSegment(segment: string, ignoreCase: boolean): Segment {
  if (segment === '**') return { type: 'any-depth' };
  const tokens = parseTokens(segment, ignoreCase);
  const characters = tokens.flatMap((token) => (token.type === 'character' ? [token.character] : []));
  return characters.length === tokens.length && !ignoreCase
    ? { type: 'name', name: characters.join('') }
    : { type: 'pattern', tokens, ignoreCase };
}

function parseTokens(pattern: string, ignoreCase: boolean): readonly Token[] {
  const tokens: Token[] = [];
  // After the last closing bracket, an opening one is literal.
  let classes = true;
  for (let at = 0; at < pattern.length; ) {
    const found = classes && pattern[at] === '[' ? parseClass(pattern.slice(at), ignoreCase) : undefined;
    if (pattern[at] === '[' && found === undefined) classes = false;
    const [token, length] = found ?? parseToken(pattern, at, ignoreCase);
    // Two stars in a name are one.
    if (token.type !== 'many' || tokens.at(-1)?.type !== 'many') tokens.push(token);
    at += length;
  }
  return tokens;
}

/** Returns the token at a position and its length. */
function parseToken(pattern: string, at: number, ignoreCase: boolean): readonly [Token, number] {
  if (pattern[at] === '*') return [{ type: 'many' }, 1];
  if (pattern[at] === '?') return [{ type: 'one' }, 1];
  const start = pattern[at] === '\\' && at + 1 < pattern.length ? at + 1 : at;
  const character = String.fromCodePoint(pattern.codePointAt(start) ?? 0);
  const token: Token = { type: 'character', character: ignoreCase ? foldCase(character) : character };
  return [token, start - at + character.length];
}

/** Returns undefined if the bracket is never closed: then it is literal. */
function parseClass(pattern: string, ignoreCase: boolean): readonly [Token, number] | undefined {
  const [all, negation, body = ''] = /^\[([!^]?)(\]?(?:\\.|[^\]\\])*)\]/su.exec(pattern) ?? [];
  if (all === undefined || body === '') return undefined;
  const characters = [...body.matchAll(/\\(.)|([^])/gsu)].map(([, escaped, plain]) => ({
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
  const folded = ranges.flatMap(([from, to]): Range[] => [
    [foldCase(from), foldCase(to)],
    [from.toUpperCase(), to.toUpperCase()],
  ]);
  return [
    { type: 'class', negated: negation !== '', ranges: ignoreCase ? [...ranges, ...folded] : ranges },
    all.length,
  ];
}

/** Characters that differ only in case fold to the same text, as with the flags `iu` of a regular expression. */
function foldCase(character: string): string {
  const upper = character.toUpperCase();
  return (Array.from(upper).length === 1 ? upper : character.normalize('NFKC')).toLowerCase();
}
