import { nearest, PolypodError } from '../base/index.ts';

/** What a session can be called by. */
export interface Called {
  readonly id: string;
  readonly name?: string;
}

/** The one session that a word means: its id, its name, or the beginning of its id. Refuses with the next step. */
export function findSession<S extends Called>(sessions: readonly S[], word: string): S {
  const exact = sessions.find(({ id }) => id === word);
  if (exact !== undefined) return exact;
  const named = sessions.filter(({ name }) => name === word);
  const found = named.length > 0 ? named : sessions.filter(({ id }) => id.startsWith(word.toLowerCase()));
  const [only, ...others] = word === '' ? [] : found;
  if (only === undefined) throw unknown(sessions, word);
  if (others.length === 0) return only;
  const some = found.slice(0, 3).map(({ id, name }) => (name === undefined ? id : `${id} (${name})`));
  throw new PolypodError(
    'bad-request',
    `${found.length} sessions are meant by "${word}": ${some.join(', ')}${found.length > 3 ? ', …' : ''}. Write more of the id.`,
  );
}

function unknown(sessions: readonly Called[], word: string): PolypodError {
  const near = nearest(
    word,
    sessions.flatMap(({ id, name }) => (name === undefined ? [id] : [id, name])),
  );
  const hint = near === undefined ? 'polypod ls --all lists them' : `did you mean ${near}?`;
  return new PolypodError('not-found', `there is no session "${word}"; ${hint}`);
}

/** How much of its id is enough to tell each session from the others. */
export function shortIds(ids: readonly string[], least = 8): ReadonlyMap<string, string> {
  const sorted = ids.toSorted();
  return new Map(
    sorted.map((id, at) => {
      const length = Math.max(least, sameStart(id, sorted[at - 1]) + 1, sameStart(id, sorted[at + 1]) + 1);
      return [id, id.slice(0, length)];
    }),
  );
}

function sameStart(one: string, other: string | undefined): number {
  if (other === undefined) return 0;
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}
