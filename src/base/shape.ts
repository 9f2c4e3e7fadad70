import { isObject, type JsonObject } from './json.ts';
import { nearestMatch } from './text/nearest-match.ts';
import { ellipsize } from './text/truncate-text.ts';

/** The path to a value from the root: object keys and list indexes. */
export type Path = readonly (string | number)[];

/** A validation error. `text` follows the value's name: `must be text, not a list`. */
export interface Problem {
  readonly path: Path;
  /** Whether the key or its value is invalid. */
  readonly at: 'key' | 'value';
  readonly text: string;
}

export type Report = (problem: Problem) => void;

/**
 * A validator for values that a person or a model wrote. It is strict and reports all problems instead of stopping at the
 * first; `read` returns undefined only after it has reported a problem. `schema` is the same shape as JSON Schema, for models.
 */
export interface Shape<T> {
  readonly schema: JsonObject;
  readonly read: (value: unknown, path: Path, report: Report) => T | undefined;
}

/** The type of the value that a shape reads. */
export type ValueOf<S> = S extends Shape<infer T> ? T : never;

/** Text that is not blank and passes the optional test. It is never quoted in a problem: it may be a secret. */
export function text(expected = 'text', isValid: (value: string) => boolean = () => true): Shape<string> {
  return {
    schema: { type: 'string' },
    read: (value, path, report) => {
      if (typeof value !== 'string') return reportMismatch(expected, describeValue(value), path, report);
      if (value.trim() === '') return reportMismatch(expected, 'blank', path, report);
      if (isValid(value)) return value;
      report({ path, at: 'value', text: `must be ${expected}` });
      return undefined;
    },
  };
}

/** Text that may be blank. */
export const anyText: Shape<string> = {
  schema: { type: 'string' },
  read: (value, path, report) =>
    typeof value === 'string' ? value : reportMismatch('text', describeValue(value), path, report),
};

/** An integer of at least `least`; a model may write it as text. */
export function integerFrom(minimum: number): Shape<number> {
  return {
    schema: { type: 'integer', minimum },
    read: (value, path, report) => {
      const read = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
      if (typeof read === 'number' && Number.isSafeInteger(read) && read >= minimum) return read;
      return reportMismatch(`a whole number from ${minimum} on`, describeValue(value), path, report);
    },
  };
}

/** Adds a description of the value for models. */
export function withDescription<T>(shape: Shape<T>, description: string): Shape<T> {
  return { schema: { ...shape.schema, description }, read: shape.read };
}

/** A finite number that passes the test. */
export function number(expected: string, isValid: (value: number) => boolean): Shape<number> {
  return {
    schema: { type: 'number' },
    read: (value, path, report) => {
      if (typeof value === 'number' && Number.isFinite(value) && isValid(value)) return value;
      return reportMismatch(expected, describeValue(value), path, report);
    },
  };
}

export const boolean: Shape<boolean> = {
  schema: { type: 'boolean' },
  read: (value, path, report) =>
    typeof value === 'boolean' ? value : reportMismatch('true or false', describeValue(value), path, report),
};

/** An object with any keys and values, which are passed on unchecked. */
export const anyObject: Shape<JsonObject> = {
  schema: { type: 'object' },
  read: (value, path, report) =>
    isObject(value) ? value : reportMismatch('a map', describeValue(value), path, report),
};

/** One of a fixed set of words. An invalid word is quoted in the problem, so do not use this for secrets. */
export function choice<const T extends string>(options: readonly T[]): Shape<T> {
  return {
    schema: { type: 'string', enum: options },
    read: (value, path, report) => {
      const option = options.find((candidate) => candidate === value);
      if (option === undefined) report({ path, at: 'value', text: noneOfText(value, options) });
      return option;
    },
  };
}

/** Describes a value that is none of several words. A word is quoted, as it may be misspelled. */
export function noneOfText(value: unknown, options: readonly string[]): string {
  const word = typeof value === 'string' && value.length <= MAX_QUOTED ? value : undefined;
  const guess = word === undefined ? undefined : nearestMatch(word, options);
  const found = word === undefined ? describeValue(value) : `"${word}"`;
  const hint = guess === undefined ? '' : `: did you mean "${guess}"?`;
  return `must be one of ${options.join(', ')}, not ${found}${hint}`;
}

export function listOf<T>(item: Shape<T>): Shape<readonly T[]> {
  return {
    schema: { type: 'array', items: item.schema },
    read: (value, path, report) => {
      if (!Array.isArray(value)) return reportMismatch('a list', describeValue(value), path, report);
      const values: T[] = [];
      for (const [index, part] of value.entries()) {
        const read = item.read(part, [...path, index], report);
        if (read !== undefined) values.push(read);
        else if (index + 1 - values.length >= MAX_PROBLEMS) break;
      }
      return values.length === value.length ? values : undefined;
    },
  };
}

/** An object with arbitrary keys; the map has them in their written order. */
export function mapOf<T>(key: Shape<string>, item: Shape<T>): Shape<ReadonlyMap<string, T>> {
  return {
    schema: { type: 'object', additionalProperties: item.schema },
    read: (value, path, report) => {
      if (!isObject(value)) return reportMismatch('a map', describeValue(value), path, report);
      const read = new Map<string, T>();
      let wrong = 0;
      for (const [name, part] of Object.entries(value)) {
        const itemPath = [...path, name];
        const validName = key.read(name, itemPath, (problem) => report({ ...problem, at: 'key' }));
        const validItem = item.read(part ?? {}, itemPath, report);
        if (validName !== undefined && validItem !== undefined) read.set(validName, validItem);
        else if ((wrong += 1) >= MAX_PROBLEMS) break;
      }
      return read.size === Object.keys(value).length ? read : undefined;
    },
  };
}

type Shapes = Readonly<Record<string, Shape<unknown>>>;
type Values<S extends Shapes> = { readonly [K in keyof S]: ValueOf<S[K]> };

/** An object with these keys and no others. A key whose value is null counts as missing. */
export function fields<R extends Shapes, O extends Shapes>(
  required: R,
  optional: O,
): Shape<Values<R> & Partial<Values<O>>> {
  const shapes = new Map(Object.entries<Shape<unknown>>({ ...required, ...optional }));
  const requiredKeys = Object.keys(required);
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries([...shapes].map(([key, { schema }]) => [key, schema])),
      ...(requiredKeys.length > 0 ? { required: requiredKeys } : {}),
      additionalProperties: false,
    },
    read: (value, path, report) => {
      if (!isObject(value)) return reportMismatch('a map', describeValue(value), path, report);
      let problems = 0;
      const count = (problem: Problem): void => {
        problems += 1;
        report(problem);
      };
      for (const key of requiredKeys)
        if (value[key] === undefined || value[key] === null)
          count({ path: [...path, key], at: 'key', text: 'is missing' });
      const read: Record<string, unknown> = {};
      for (const key of Object.keys(value)) {
        if (problems >= MAX_PROBLEMS) break;
        const [part, shape] = [value[key], shapes.get(key)];
        const itemPath = [...path, key];
        if (shape === undefined)
          count({ path: itemPath, at: 'key', text: unknownKeyText(key, shapes.keys()) });
        else if (part !== null) read[key] = shape.read(part, itemPath, count);
      }
      if (problems > 0) return undefined;
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each value was read by the shape of its own key
      return read as Values<R> & Partial<Values<O>>;
    },
  };
}

/** The same object shape, but unknown keys are ignored. */
export function withUnknownKeys<T>(strict: Shape<T>): Shape<T> {
  const { properties } = strict.schema;
  const known = new Set(isObject(properties) ? Object.keys(properties) : []);
  return {
    schema: { ...strict.schema, additionalProperties: true },
    read: (value, path, report) => {
      if (!isObject(value)) return strict.read(value, path, report);
      const entries = Object.entries(value).filter(([key]) => known.has(key));
      return strict.read(Object.fromEntries(entries), path, report);
    },
  };
}

/** A discriminated union: the value of `key` selects the shape of the object. */
export function tagged<const K extends string, S extends Readonly<Record<string, Shape<object>>>>(
  key: K,
  kinds: S,
): Shape<{ [T in keyof S & string]: { readonly [P in K]: T } & ValueOf<S[T]> }[keyof S & string]> {
  const options = Object.keys(kinds);
  const option = choice(options);
  return {
    schema: {
      oneOf: options.map((name) => taggedSchema(key, name, kinds[name]?.schema ?? {})),
    },
    read: (value, path, report) => {
      if (!isObject(value)) return reportMismatch('a map', describeValue(value), path, report);
      const { [key]: tag, ...rest } = value;
      if (tag === undefined) {
        report({ path: [...path, key], at: 'key', text: 'is missing' });
        return undefined;
      }
      const kind = option.read(tag, [...path, key], report);
      const read = kind === undefined ? undefined : kinds[kind]?.read(rest, path, report);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- read by the shape that belongs to its own word
      return read && ({ [key]: kind, ...read } as never);
    },
  };
}

function taggedSchema(key: string, name: string, { properties, required, ...rest }: JsonObject): JsonObject {
  const others = Array.isArray(required) ? required : [];
  return {
    ...rest,
    properties: { [key]: { const: name }, ...(isObject(properties) ? properties : {}) },
    required: [key, ...others],
  };
}

/** Formats problems as one error message that names each field. */
export function problemsMessage(what: string, problems: readonly Problem[]): string {
  const parts = problems.map(({ path, text: problem }) => `${truncatedName(path) || what} ${problem}`);
  return `${what} cannot be read: ${parts.join('; ')}`;
}

/** Adds a rule for the whole value. The rule returns an error text if the value violates it. */
export function refined<T>(shape: Shape<T>, rule: (value: T, path: Path) => string | undefined): Shape<T> {
  return {
    schema: shape.schema,
    read: (value, path, report) => {
      const read = shape.read(value, path, report);
      const violation = read === undefined ? undefined : rule(read, path);
      if (violation === undefined) return read;
      report({ path, at: 'key', text: violation });
      return undefined;
    },
  };
}

/** Reading stops after this many problems in one list or map, so that a long value does not cause a much longer error. */
const MAX_PROBLEMS = 20;

function reportMismatch(expected: string, found: string, path: Path, report: Report): undefined {
  report({ path, at: 'value', text: `must be ${expected}, not ${found}` });
}

/** The name of a field in an error message. A client may have sent a long key. */
export function truncatedName(path: Path): string {
  return ellipsize(path.join('.'), MAX_QUOTED);
}

const MAX_QUOTED = 100;

function unknownKeyText(key: string, known: Iterable<string>): string {
  const keys = [...known];
  const guess = nearestMatch(key, keys);
  return `is not a key: ${guess === undefined ? `there are ${keys.join(', ')}` : `did you mean "${guess}"?`}`;
}

/** Describes a value in an error message. Text is not quoted: it may be a secret in the wrong field. */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return 'text';
  return Array.isArray(value) ? 'a list' : 'a map';
}
