import type { Caller, Overrides } from './command.ts';

/** Whose decisions count: the user of this machine, or the owner of a key. */
export type Person = 'local' | { readonly owner: string };

/** Who decides. */
export function personOf({ owner }: Pick<Caller, 'owner'>): Person {
  return owner === undefined ? 'local' : { owner };
}

/** Who has a run done: whoever submitted it with a key, otherwise the local user. */
export function personBehind({ submitter }: Overrides): Person {
  return submitter === undefined ? 'local' : { owner: submitter.owner };
}
