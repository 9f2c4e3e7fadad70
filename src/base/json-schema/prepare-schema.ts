import { messageOf } from '../errors.ts';
import { isObject, type JsonObject, stringOf, tooDeepMessage } from '../json.ts';
import { isValueDeeperThan, MESSAGE_DEPTH } from '../json-depth.ts';
import type { Dialect } from './validator-thread.ts';

/** A schema in the form that the validator thread receives. */
export interface PreparedSchema {
  readonly dialect: Dialect;
  /** As JSON. */
  readonly schema: string;
}

/** Prepares a foreign schema: checks its limits and its dialect, and removes keywords that only ajv knows. */
export function prepareSchema(schema: JsonObject): PreparedSchema | { readonly reason: string } {
  if (isValueDeeperThan(MESSAGE_DEPTH, schema)) return { reason: tooDeepMessage() };
  let text: string;
  try {
    text = JSON.stringify(schema);
  } catch (thrown) {
    return { reason: messageOf(thrown) };
  }
  if (text.length > MAX_SCHEMA_LENGTH)
    return { reason: `it has ${text.length} characters, and may have at most ${MAX_SCHEMA_LENGTH}` };
  const copy: unknown = JSON.parse(text);
  const declared = isObject(copy) ? copy.$schema : undefined;
  const dialect = declared === undefined ? '2020-12' : DIALECTS.get(stringOf(declared).replace(/#$/, ''));
  if (dialect === undefined)
    return { reason: `$schema: must be one of ${[...DIALECTS.keys()].map((uri) => `"${uri}"`).join(', ')}` };
  const references = new Set<string>();
  const standard = standardSchema(copy, references);
  const inherited = [...references].find((reference) => isInherited(reference, standard));
  if (inherited !== undefined) return { reason: unresolvedReference(inherited) };
  return { dialect, schema: JSON.stringify(standard) };
}

/** The reason for a reference that leads to nothing in the schema. */
export function unresolvedReference(reference: string): string {
  return `$ref: cannot resolve "${reference}": references can only refer to the schema itself`;
}

/** In characters of JSON. Limits the time that ajv needs, and the memory of compiled schemas. */
const MAX_SCHEMA_LENGTH = 131_072;

const DIALECTS: ReadonlyMap<string, Dialect> = new Map([
  ['https://json-schema.org/draft/2020-12/schema', '2020-12'],
  ['https://json-schema.org/draft/2019-09/schema', '2019-09'],
  ['http://json-schema.org/draft-07/schema', 'draft-07'],
  ['http://json-schema.org/draft-06/schema', 'draft-07'],
]);

/** Copies a schema without what ajv does not treat as an unknown keyword: it rejects `id`, and some uses of `nullable`. */
function standardSchema(schema: unknown, references: Set<string>): unknown {
  if (!isObject(schema)) return schema;
  for (const key of ['$ref', '$dynamicRef', '$recursiveRef'])
    if (typeof schema[key] === 'string') references.add(schema[key]);
  const copyPart = (part: unknown): unknown => standardSchema(part, references);
  const entries = Object.entries(schema)
    .filter(([key, value]) => !isOnlyOfAjv(key, value, schema))
    .map(([key, value]): [string, unknown] => {
      if (MAPS.has(key) && isObject(value))
        return [key, Object.fromEntries(Object.entries(value).map(([name, part]) => [name, copyPart(part)]))];
      if (!SCHEMAS.has(key)) return [key, value];
      return [key, Array.isArray(value) ? value.map(copyPart) : copyPart(value)];
    });
  return Object.fromEntries(entries);
}

function isOnlyOfAjv(key: string, value: unknown, { type }: JsonObject): boolean {
  if (key === 'nullable') return value !== true || type === undefined;
  return key === 'id' || key === '$async';
}

/** Keywords with a schema or a list of schemas. */
const SCHEMAS: ReadonlySet<string> = new Set([
  'additionalItems',
  'additionalProperties',
  'allOf',
  'anyOf',
  'contains',
  'else',
  'if',
  'items',
  'not',
  'oneOf',
  'prefixItems',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]);

/** Keywords with a map from names to schemas. */
const MAPS: ReadonlySet<string> = new Set([
  '$defs',
  'definitions',
  'dependencies',
  'dependentSchemas',
  'patternProperties',
  'properties',
]);

/** Whether a reference would lead to a key that every object inherits, such as `constructor`. ajv follows it. */
function isInherited(reference: string, root: unknown): boolean {
  if (!reference.startsWith('#/')) return reference.replace(/^#|#$/g, '') in Object.prototype;
  let value = root;
  for (const key of reference.slice(2).split('/')) {
    const isOwn = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    if (!isOwn && key in Object.prototype) return true;
    value = isOwn ? Reflect.get(Object(value), key) : undefined;
  }
  return false;
}
