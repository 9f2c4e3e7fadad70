import { arrayOf, isObject, type JsonObject, objectOf } from './json.ts';

/**
 * What is wrong with a value by a JSON Schema that somebody else wrote: `path: reason`. Of the language only what models get
 * wrong is looked at: kinds, required and unknown keys, choices of words. What is not understood is let through.
 */
export function schemaProblems(value: unknown, schema: unknown, path = ''): readonly string[] {
  if (!isObject(schema)) return [];
  const wrong = wrongKind(value, schema) ?? wrongChoice(value, schema);
  if (wrong !== undefined) return [`${path === '' ? 'arguments' : path}: ${wrong}`];
  if (Array.isArray(value))
    return value.flatMap((item, at) => schemaProblems(item, schema.items, below(path, String(at))));
  return isObject(value) ? objectProblems(value, schema, path) : [];
}

function objectProblems(value: JsonObject, schema: JsonObject, path: string): readonly string[] {
  const properties = objectOf(schema.properties);
  const missing = arrayOf(schema.required).filter(
    (key) => typeof key === 'string' && !Object.hasOwn(value, key),
  );
  const unknown = Object.keys(value).filter((key) => !Object.hasOwn(properties, key));
  return [
    ...missing.map((key) => `${below(path, String(key))}: is missing`),
    ...(schema.additionalProperties === false
      ? unknown.map((key) => `${below(path, key)}: is not a key`)
      : []),
    ...Object.entries(properties).flatMap(([key, part]) =>
      Object.hasOwn(value, key) ? schemaProblems(value[key], part, below(path, key)) : [],
    ),
  ];
}

function wrongKind(value: unknown, { type }: JsonObject): string | undefined {
  const kinds = typeof type === 'string' ? [type] : arrayOf(type).filter((kind) => typeof kind === 'string');
  const known = kinds.filter((kind) => Object.hasOwn(KINDS, kind));
  if (
    known.length === 0 ||
    known.length < kinds.length ||
    known.some((kind) => KINDS[kind]?.(value) === true)
  )
    return;
  return `must be ${known.join(' or ')}`;
}

const KINDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: isObject,
};

function wrongChoice(value: unknown, schema: JsonObject): string | undefined {
  const choices = schema.const === undefined ? arrayOf(schema.enum) : [schema.const];
  if (choices.length === 0) return undefined;
  const text = JSON.stringify(value);
  return choices.some((choice) => JSON.stringify(choice) === text)
    ? undefined
    : `must be one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`;
}

function below(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
