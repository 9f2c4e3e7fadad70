import { isObject } from '../../base/index.ts';

/**
 * Checks the shape of a value that Polypod wrote. The parsed value is used as it is, unlike the facts of a session, which are
 * copied field by field: with thousands of rows at every start, copying would take most of the time and half of the memory.
 */
export type Check<T> = (value: unknown) => value is T;

/** Requires a check for every key. */
type Checks<T> = { readonly [K in keyof T]-?: Check<T[K]> };

/** An object with these keys; unknown keys are allowed. */
export function record<T extends object>(checks: Checks<T>): Check<T> {
  const fields = Object.entries<Check<unknown>>(checks);
  return (value): value is T => {
    if (!isObject(value)) return false;
    for (const [key, check] of fields) if (!check(value[key])) return false;
    return true;
  };
}

export const text: Check<string> = (value) => typeof value === 'string';

export const number: Check<number> = (value) => typeof value === 'number';

export const flag: Check<boolean> = (value) => typeof value === 'boolean';

/** One of a list of strings. */
export function word<const T extends string>(...words: readonly T[]): Check<T> {
  return (value): value is T => words.some((candidate) => candidate === value);
}

export function list<T>(item: Check<T>): Check<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every(item);
}

export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value): value is T | undefined => value === undefined || check(value);
}
