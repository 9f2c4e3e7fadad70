import type { Caller, Overrides } from './command.ts';

/** Who makes decisions: the user of this machine, or the owner of a key. */
export type Person = 'local' | { readonly owner: string };

/** The person behind a caller. */
export function personOf({ owner }: Pick<Caller, 'owner'>): Person {
  return owner === undefined ? 'local' : { owner };
}

/** The person behind a run: the owner of the key that submitted it, otherwise the local user. */
export function personOfRun({ submitter }: Overrides): Person {
  return submitter === undefined ? 'local' : { owner: submitter.owner };
}
