import { isObject, type JsonObject } from '../../base/index.ts';
import type { Body, Entry } from './entry.ts';

/**
 * A kind of fact of our own about a session. It is kept as a custom entry that hangs on the leaf, so that others pass
 * over it. The reader takes what it knows and lets other keys be: a later version may say more.
 */
export interface FactKind<T> {
  readonly customType: string;
  /** The entry that says it. */
  readonly body: (value: T) => Body;
  /** What the entry says, if it says a fact of this kind. */
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

/** Whether an entry is a fact of ours, of whatever kind. */
export function isFact(entry: Entry): boolean {
  return entry.type === 'custom' && entry.customType.startsWith(PREFIX);
}

const PREFIX = 'polypod.';
