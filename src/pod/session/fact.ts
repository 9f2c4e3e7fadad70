import { isObject, type JsonObject } from '../../base/index.ts';
import type { Body, Entry } from './entry.ts';

/**
 * A kind of fact that Polypod records about a session. It is stored as a custom entry under the leaf, which other programs skip.
 * The reader ignores unknown keys: a later version may add some.
 */
export interface FactKind<T> {
  readonly customType: string;
  /** Creates the entry that records a fact. */
  readonly body: (value: T) => Body;
  /** Returns the fact in an entry, if it is of this kind. */
  readonly in: (entry: Entry) => T | undefined;
}

/** Defines a kind of fact by its name and the reader of its value. */
export function factKind<T extends object>(
  name: string,
  read: (value: JsonObject) => T | undefined,
): FactKind<T> {
  const customType = `${PREFIX}${name}`;
  return {
    customType,
    body: (value) => ({ type: 'custom', customType, data: value }),
    in: (entry) => {
      if (entry.type !== 'custom' || entry.customType !== customType) return undefined;
      return isObject(entry.data) ? read(entry.data) : undefined;
    },
  };
}

/** Whether an entry is a fact of Polypod, of any kind. */
export function isFact(entry: Entry): boolean {
  return entry.type === 'custom' && entry.customType.startsWith(PREFIX);
}

const PREFIX = 'polypod.';
