import { isObject, type JsonObject } from '../../base/index.ts';

/** Reads a value that Polypod wrote; undefined if it has another shape. */
export type Field<T> = (value: unknown) => T | undefined;

type Fields = Readonly<Record<string, Field<unknown>>>;
type Read<F extends Fields> = { readonly [K in keyof F]: Exclude<ReturnType<F[K]>, undefined> };

/** An object with these keys. Other keys are ignored, and invalid optional ones are omitted. */
export function record<R extends Fields, O extends Fields>(
  required: R,
  optional: O,
): Field<Read<R> & Partial<Read<O>>> {
  return (value) => {
    if (!isObject(value)) return undefined;
    const read = { ...readEach(required, value), ...readEach(optional, value) };
    if (Object.keys(required).some((key) => read[key] === undefined)) return undefined;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each value was read by the field of its own key
    return read as Read<R> & Partial<Read<O>>;
  };
}

function readEach(fields: Fields, value: JsonObject): Record<string, unknown> {
  const read = Object.entries(fields).map(([key, field]) => [key, field(value[key])] as const);
  return Object.fromEntries(read.filter(([, found]) => found !== undefined));
}

export const text: Field<string> = (value) => (typeof value === 'string' ? value : undefined);

export const amount: Field<number> = (value) => (typeof value === 'number' ? value : undefined);

export const object: Field<JsonObject> = (value) => (isObject(value) ? value : undefined);

export const flag: Field<boolean> = (value) => (typeof value === 'boolean' ? value : undefined);

/** One of a list of strings. */
export function word<const T extends string>(...words: readonly T[]): Field<T> {
  return (value) => words.find((candidate) => candidate === value);
}

/** A list; invalid items are omitted. */
export function list<T>(item: Field<T>): Field<readonly T[]> {
  return (value) =>
    Array.isArray(value)
      ? value.flatMap((part): T[] => {
          const read = item(part);
          return read === undefined ? [] : [read];
        })
      : undefined;
}
