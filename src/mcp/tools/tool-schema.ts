import { arrayOf, isObject, type JsonObject, objectOf } from '../../base/index.ts';

/**
 * Converts a server's argument schema to a form that every provider accepts: an object at the top without
 * `anyOf` and the like, because some providers reject the whole request otherwise. The alternatives remain as
 * optional properties; calls are validated against the server's own schema.
 */
export function argumentsSchema(schema: unknown): JsonObject {
  const source = objectOf(schema);
  const allowed = Object.entries(source).filter(([key]) => !FORBIDDEN_AT_TOP.has(key));
  const choices = CHOICES.flatMap((key) => arrayOf(source[key])).map((choice) => objectOf(choice));
  const offered = [...choices, source].flatMap(({ properties }) => Object.entries(objectOf(properties)));
  const properties = new Map(offered.filter(([, part]) => isSchema(part)));
  const required = arrayOf(source.required).filter((key) => typeof key === 'string' && properties.has(key));
  return {
    ...Object.fromEntries(allowed),
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 ? { required } : {}),
  };
}

const CHOICES = ['anyOf', 'oneOf', 'allOf'] as const;
const FORBIDDEN_AT_TOP: ReadonlySet<string> = new Set([
  ...CHOICES,
  '$schema',
  '$id',
  'not',
  'if',
  'then',
  'else',
  'enum',
  'const',
  'type',
  'properties',
  'required',
]);

function isSchema(value: unknown): boolean {
  return isObject(value) || typeof value === 'boolean';
}
