import { isPartOfId, nearestMatch, PolypodError } from '../base/index.ts';

/** The id and name by which a session can be referenced. */
export interface SessionRef {
  readonly id: string;
  readonly name?: string;
}

/**
 * Finds the session for a word: its id, its name, or the beginning or end of its id. Throws with the next step if there is not exactly one; `unknown` is
 * the message if there is none.
 */
export function findSession<S extends SessionRef>(
  sessions: readonly S[],
  word: string,
  { unknown }: { readonly unknown?: string } = {},
): S {
  const exact = sessions.find(({ id }) => id === word);
  if (exact !== undefined) return exact;
  const named = sessions.filter(({ name }) => name === word);
  const found = named.length > 0 ? named : sessions.filter(({ id }) => isPartOfId(id, word));
  const [only, ...others] = word === '' ? [] : found;
  if (only === undefined)
    throw unknown === undefined ? unknownSession(sessions, word) : new PolypodError('not-found', unknown);
  if (others.length === 0) return only;
  const examples = found.slice(0, 3).map(({ id, name }) => (name === undefined ? id : `${id} (${name})`));
  throw new PolypodError(
    'bad-request',
    `"${word}" matches ${found.length} sessions: ${examples.join(', ')}${found.length > 3 ? ', …' : ''}. Use more characters of the id.`,
  );
}

function unknownSession(sessions: readonly SessionRef[], word: string): PolypodError {
  const near = nearestMatch(
    word,
    sessions.flatMap(({ id, name }) => (name === undefined ? [id] : [id, name])),
  );
  const hint = near === undefined ? 'polypod ls --all lists them' : `did you mean ${near}?`;
  return new PolypodError('not-found', `there is no session "${word}"; ${hint}`);
}

/**
 * The shortest unique end of each id, with at least `least` characters. The beginnings of ids are their times, so
 * those of sessions that were created together are the same.
 */
export function shortIds(ids: readonly string[], least = 8): ReadonlyMap<string, string> {
  const byEnd = new Map<string, string[]>();
  for (const id of ids) {
    const end = id.slice(-least);
    const same = byEnd.get(end);
    if (same === undefined) byEnd.set(end, [id]);
    else same.push(id);
  }
  // Almost all ids differ in their last characters already.
  return new Map(
    [...byEnd].flatMap(([end, [id = '', ...others]]): readonly (readonly [string, string])[] =>
      others.length === 0 ? [[id, end]] : uniqueEnds([id, ...others], least),
    ),
  );
}

function uniqueEnds(ids: readonly string[], least: number): readonly (readonly [string, string])[] {
  const sorted = ids
    .map((id) => ({ id, reversed: Array.from(id).toReversed().join('') }))
    .toSorted((one, other) => (one.reversed < other.reversed ? -1 : 1));
  return sorted.map(({ id, reversed }, at) => {
    const length = Math.max(
      least,
      commonPrefixLength(reversed, sorted[at - 1]?.reversed) + 1,
      commonPrefixLength(reversed, sorted[at + 1]?.reversed) + 1,
    );
    return [id, id.slice(-length)];
  });
}

function commonPrefixLength(one: string, other: string | undefined): number {
  if (other === undefined) return 0;
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}
