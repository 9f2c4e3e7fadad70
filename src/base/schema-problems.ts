import { arrayOf, isObject, type JsonObject, objectOf } from './json.ts';

/**
 * Validates a value against a foreign JSON Schema and returns the problems as `path: reason`. Supports only the keywords
 * that models get wrong: types, required and unknown keys, enums. Other keywords are ignored.
 */
export function schemaProblems(value: unknown, schema: unknown, path = ''): readonly string[] {
  if (!isObject(schema)) return [];
  const problem = typeProblem(value, schema) ?? enumProblem(value, schema);
  if (problem !== undefined) return [`${path === '' ? 'arguments' : path}: ${problem}`];
  if (Array.isArray(value))
    return value.flatMap((item, at) => schemaProblems(item, schema.items, childPath(path, String(at))));
  return isObject(value) ? objectProblems(value, schema, path) : [];
}

function objectProblems(value: JsonObject, schema: JsonObject, path: string): readonly string[] {
  const properties = objectOf(schema.properties);
  const missing = arrayOf(schema.required).filter(
    (key) => typeof key === 'string' && !Object.hasOwn(value, key),
  );
  const unknown = Object.keys(value).filter((key) => !Object.hasOwn(properties, key));
  return [
    ...missing.map((key) => `${childPath(path, String(key))}: is missing`),
    ...(schema.additionalProperties === false
      ? unknown.map((key) => `${childPath(path, key)}: is not a key`)
      : []),
    ...Object.entries(properties).flatMap(([key, part]) =>
      Object.hasOwn(value, key) ? schemaProblems(value[key], part, childPath(path, key)) : [],
    ),
  ];
}

function typeProblem(value: unknown, { type }: JsonObject): string | undefined {
  const types = typeof type === 'string' ? [type] : arrayOf(type).filter((name) => typeof name === 'string');
  const known = types.filter((name) => Object.hasOwn(TYPES, name));
  if (
    known.length === 0 ||
    known.length < types.length ||
    known.some((name) => TYPES[name]?.(value) === true)
  )
    return;
  return `must be ${known.join(' or ')}`;
}

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: isObject,
};

function enumProblem(value: unknown, schema: JsonObject): string | undefined {
  const choices = schema.const === undefined ? arrayOf(schema.enum) : [schema.const];
  if (choices.length === 0) return undefined;
  const text = JSON.stringify(value);
  return choices.some((choice) => JSON.stringify(choice) === text)
    ? undefined
    : `must be one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`;
}

function childPath(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
