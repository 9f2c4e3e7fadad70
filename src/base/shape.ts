import { isObject, type JsonObject } from './json.ts';
import { nearest } from './nearest.ts';

/** The way to a value from the root: keys of objects, indexes of lists. */
export type Path = readonly (string | number)[];

/** A mistake in what a person or a model wrote. `text` follows the value's name: `must be text, not a list`. */
export interface Problem {
  readonly path: Path;
  /** Whether the key itself is wrong, or what stands behind it. */
  readonly at: 'key' | 'value';
  readonly text: string;
}

export type Report = (problem: Problem) => void;

/**
 * How to read a value that a person or a model wrote: strictly, and saying all that is wrong instead of stopping at the
 * first. The answer is undefined only after a problem was reported. The same shape as JSON Schema is what a model is told.
 */
export interface Shape<T> {
  readonly schema: JsonObject;
  readonly read: (value: unknown, path: Path, report: Report) => T | undefined;
}

/** What a shape reads. */
export type ValueOf<S> = S extends Shape<infer T> ? T : never;

/** Text that is not blank, and passes the test if there is one. It is never quoted: it may be a secret. */
export function text(must = 'text', holds: (value: string) => boolean = () => true): Shape<string> {
  return {
    schema: { type: 'string' },
    read: (value, path, report) => {
      if (typeof value !== 'string') return mistaken(must, kindOf(value), path, report);
      if (value.trim() === '') return mistaken(must, 'blank', path, report);
      if (holds(value)) return value;
      report({ path, at: 'value', text: `must be ${must}` });
      return undefined;
    },
  };
}

/** Text that may be blank. */
export const anyText: Shape<string> = {
  schema: { type: 'string' },
  read: (value, path, report) =>
    typeof value === 'string' ? value : mistaken('text', kindOf(value), path, report),
};

/** A whole number from `least` on; a model may write it as text. */
export function count(least: number): Shape<number> {
  return {
    schema: { type: 'integer', minimum: least },
    read: (value, path, report) => {
      const read = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
      if (typeof read === 'number' && Number.isSafeInteger(read) && read >= least) return read;
      return mistaken(`a whole number from ${least} on`, kindOf(value), path, report);
    },
  };
}

/** The shape with a sentence that tells a model what the value is for. */
export function described<T>(shape: Shape<T>, description: string): Shape<T> {
  return { schema: { ...shape.schema, description }, read: shape.read };
}

/** A finite number that passes the test. */
export function number(must: string, holds: (value: number) => boolean): Shape<number> {
  return {
    schema: { type: 'number' },
    read: (value, path, report) => {
      if (typeof value === 'number' && Number.isFinite(value) && holds(value)) return value;
      return mistaken(must, kindOf(value), path, report);
    },
  };
}

export const flag: Shape<boolean> = {
  schema: { type: 'boolean' },
  read: (value, path, report) =>
    typeof value === 'boolean' ? value : mistaken('true or false', kindOf(value), path, report),
};

/** An object with any keys and values: what is in it is for somebody else. */
export const anyObject: Shape<JsonObject> = {
  schema: { type: 'object' },
  read: (value, path, report) => (isObject(value) ? value : mistaken('a map', kindOf(value), path, report)),
};

/** One of a few words. A wrong one is quoted, so this is not for secrets. */
export function choice<const T extends string>(words: readonly T[]): Shape<T> {
  return {
    schema: { type: 'string', enum: words },
    read: (value, path, report) => {
      const word = words.find((candidate) => candidate === value);
      if (word !== undefined) return word;
      const must = `one of ${words.join(', ')}`;
      if (typeof value !== 'string') return mistaken(must, kindOf(value), path, report);
      const guess = nearest(value, words);
      const hint = guess === undefined ? '' : `: did you mean "${guess}"?`;
      return mistaken(must, `"${value}"${hint}`, path, report);
    },
  };
}

export function listOf<T>(item: Shape<T>): Shape<readonly T[]> {
  return {
    schema: { type: 'array', items: item.schema },
    read: (value, path, report) => {
      if (!Array.isArray(value)) return mistaken('a list', kindOf(value), path, report);
      const sound: T[] = [];
      for (const [index, part] of value.entries()) {
        const read = item.read(part, [...path, index], report);
        if (read !== undefined) sound.push(read);
        else if (index + 1 - sound.length >= MOST_PROBLEMS) break;
      }
      return sound.length === value.length ? sound : undefined;
    },
  };
}

/** An object with keys of the writer's choosing, in the order they were written. */
export function mapOf<T>(key: Shape<string>, item: Shape<T>): Shape<ReadonlyMap<string, T>> {
  return {
    schema: { type: 'object', additionalProperties: item.schema },
    read: (value, path, report) => {
      if (!isObject(value)) return mistaken('a map', kindOf(value), path, report);
      const read = new Map<string, T>();
      let wrong = 0;
      for (const [name, part] of Object.entries(value)) {
        const here = [...path, name];
        const soundName = key.read(name, here, (problem) => report({ ...problem, at: 'key' }));
        const soundPart = item.read(part ?? {}, here, report);
        if (soundName !== undefined && soundPart !== undefined) read.set(soundName, soundPart);
        else if ((wrong += 1) >= MOST_PROBLEMS) break;
      }
      return read.size === Object.keys(value).length ? read : undefined;
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
  const shapes = new Map(Object.entries<Shape<unknown>>({ ...required, ...optional }));
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries([...shapes].map(([key, { schema }]) => [key, schema])),
      ...(Object.keys(required).length > 0 ? { required: Object.keys(required) } : {}),
      additionalProperties: false,
    },
    read: (value, path, report) => {
      if (!isObject(value)) return mistaken('a map', kindOf(value), path, report);
      const problems: Problem[] = Object.keys(required)
        .filter((key) => value[key] === undefined || value[key] === null)
        .map((key) => ({ path: [...path, key], at: 'key', text: 'is missing' }));
      const read: Record<string, unknown> = {};
      for (const [key, part] of Object.entries(value)) {
        if (problems.length >= MOST_PROBLEMS) break;
        const shape = shapes.get(key);
        const here = [...path, key];
        if (shape === undefined) problems.push({ path: here, at: 'key', text: notAKey(key, shapes.keys()) });
        else if (part !== null) read[key] = shape.read(part, here, (problem) => problems.push(problem));
      }
      problems.forEach(report);
      if (problems.length > 0) return undefined;
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each value was read by the shape of its own key
      return read as Values<R> & Partial<Values<O>>;
    },
  };
}

/** The shape of an object without its strictness about keys: those that it does not know are ignored. */
export function open<T>(strict: Shape<T>): Shape<T> {
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

/** An object of one of several kinds; the word under `key` tells which. */
export function tagged<const K extends string, S extends Readonly<Record<string, Shape<object>>>>(
  key: K,
  kinds: S,
): Shape<{ [T in keyof S & string]: { readonly [P in K]: T } & ValueOf<S[T]> }[keyof S & string]> {
  const words = Object.keys(kinds);
  const word = choice(words);
  return {
    schema: {
      oneOf: words.map((name) => taggedSchema(key, name, kinds[name]?.schema ?? {})),
    },
    read: (value, path, report) => {
      if (!isObject(value)) return mistaken('a map', kindOf(value), path, report);
      const { [key]: tag, ...rest } = value;
      if (tag === undefined) {
        report({ path: [...path, key], at: 'key', text: 'is missing' });
        return undefined;
      }
      const kind = word.read(tag, [...path, key], report);
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

/** What is wrong with a value, in one sentence that names each field. */
export function sentence(what: string, problems: readonly Problem[]): string {
  const parts = problems.map(({ path, text: problem }) => `${shortened(path.join('.')) || what} ${problem}`);
  return `${what} cannot be read: ${parts.join('; ')}`;
}

/** The shape with a rule for the value as a whole, which answers with a sentence when it is broken. */
export function ruled<T>(shape: Shape<T>, rule: (value: T, path: Path) => string | undefined): Shape<T> {
  return {
    schema: shape.schema,
    read: (value, path, report) => {
      const read = shape.read(value, path, report);
      const broken = read === undefined ? undefined : rule(read, path);
      if (broken === undefined) return read;
      report({ path, at: 'key', text: broken });
      return undefined;
    },
  };
}

/** Reading stops after so many problems in one list or map: a long value must not become a much longer error. */
const MOST_PROBLEMS = 20;

function mistaken(must: string, found: string, path: Path, report: Report): undefined {
  report({ path, at: 'value', text: `must be ${must}, not ${shortened(found)}` });
}

/** A name or value of a client in an error: a long one must not become a long error. */
function shortened(text: string): string {
  return text.length <= MOST_QUOTED ? text : `${text.slice(0, MOST_QUOTED)}…`;
}

const MOST_QUOTED = 100;

function notAKey(key: string, known: Iterable<string>): string {
  const keys = [...known];
  const guess = nearest(key, keys);
  return `is not a key: ${guess === undefined ? `there are ${keys.join(', ')}` : `did you mean "${guess}"?`}`;
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return 'text';
  return Array.isArray(value) ? 'a list' : 'a map';
}
