import { isObject } from '../base/index.ts';
import { nearest } from './nearest.ts';

/** The way to a value from the root: keys of objects, indexes of lists. */
export type Path = readonly (string | number)[];

/** A mistake in what a person wrote. `text` follows the value's name: `must be text, not a list`. */
export interface Problem {
  readonly path: Path;
  /** Whether the key itself is wrong, or what stands behind it. */
  readonly at: 'key' | 'value';
  readonly text: string;
}

/**
 * How to read a value that a person wrote: strictly, and saying all that is wrong instead of stopping at the first.
 * The answer is undefined only after a problem was reported.
 */
export interface Shape<T> {
  readonly read: (value: unknown, path: Path, report: Report) => T | undefined;
}
export type Report = (problem: Problem) => void;
type ValueOf<S> = S extends Shape<infer T> ? T : never;

/** Text that is not blank, and passes the test if there is one. */
export function text(must = 'text', holds: (value: string) => boolean = () => true): Shape<string> {
  return plain(must, (value) => typeof value === 'string' && value.trim() !== '' && holds(value));
}

export function number(must: string, holds: (value: number) => boolean): Shape<number> {
  return plain(must, (value) => typeof value === 'number' && Number.isFinite(value) && holds(value));
}

export const flag: Shape<boolean> = plain('true or false', (value) => typeof value === 'boolean');

/** One of a few words. A wrong one is quoted, so this is not for secrets. */
export function choice<const T extends string>(words: readonly T[]): Shape<T> {
  return {
    read: (value, path, report) => {
      const word = words.find((candidate) => candidate === value);
      if (word !== undefined) return word;
      const guess = typeof value === 'string' ? nearest(value, words) : undefined;
      const said = typeof value === 'string' ? `"${value}"` : kindOf(value);
      const hint = guess === undefined ? '' : `: did you mean "${guess}"?`;
      report({ path, at: 'value', text: `must be one of ${words.join(', ')}, not ${said}${hint}` });
      return undefined;
    },
  };
}

export function listOf<T>(item: Shape<T>): Shape<readonly T[]> {
  return {
    read: (value, path, report) => {
      if (!Array.isArray(value)) return mistaken('a list', value, path, report);
      return whole(value.map((part, index) => item.read(part, [...path, index], report)));
    },
  };
}

/** An object with keys of the writer's choosing, in the order they were written. */
export function mapOf<T>(key: Shape<string>, item: Shape<T>): Shape<ReadonlyMap<string, T>> {
  return {
    read: (value, path, report) => {
      if (!isObject(value)) return mistaken('a map', value, path, report);
      const entries = Object.entries(value).map(([name, part]) => {
        const reportKey: Report = (problem) => report({ ...problem, at: 'key' });
        const readName = key.read(name, [...path, name], reportKey);
        const readPart = item.read(part ?? {}, [...path, name], report);
        return readName === undefined || readPart === undefined ? undefined : ([readName, readPart] as const);
      });
      const complete = whole(entries);
      return complete === undefined ? undefined : new Map(complete);
    },
  };
}

type Shapes = Readonly<Record<string, Shape<unknown>>>;
type Values<S extends Shapes> = { readonly [K in keyof S]: ValueOf<S[K]> };

/** An object with these keys and no others. A key without a value counts as left out. */
export function fields<R extends Shapes, O extends Shapes>(
  required: R,
  optional: O,
): Shape<Values<R> & Partial<Values<O>>> {
  const shapes = new Map(Object.entries({ ...required, ...optional }));
  return {
    read: (value, path, report) => {
      if (!isObject(value)) return mistaken('a map', value, path, report);
      const missing = Object.keys(required).filter((key) => (value[key] ?? undefined) === undefined);
      for (const key of missing) report({ path: [...path, key], at: 'key', text: 'is missing' });
      const entries = Object.entries(value).map(([key, part]) => {
        const shape = shapes.get(key);
        if (shape === undefined) return unknownKey([...path, key], key, [...shapes.keys()], report);
        return [key, part === null ? null : shape.read(part, [...path, key], report)] as const;
      });
      if (missing.length > 0 || entries.some((entry) => entry?.[1] === undefined)) return undefined;
      const given = entries.filter((entry) => entry !== undefined && entry[1] !== null);
      // Each entry was read by the shape of its own key, which is what the type says and the compiler cannot see.
      return Object.fromEntries(given.filter((entry) => entry !== undefined)) as Values<R> & Partial<Values<O>>;
    },
  };
}

/** The shape with a rule for the whole value: a sentence when it is broken. */
export function ruled<T>(shape: Shape<T>, rule: (value: T, path: Path) => string | undefined): Shape<T> {
  return {
    read: (value, path, report) => {
      const read = shape.read(value, path, report);
      const broken = read === undefined ? undefined : rule(read, path);
      if (broken === undefined) return read;
      report({ path, at: 'key', text: broken });
      return undefined;
    },
  };
}
