import { PolypodError } from '../errors.ts';
import { isObject, type JsonObject, objectOf, stringOf, tooDeepMessage } from '../json.ts';
import { isValueDeeperThan, MESSAGE_DEPTH } from '../json-depth.ts';
import type { ThreadRequest } from './validator-thread.ts';

/**
 * Prepares a foreign schema for the validator thread: checks its limits and its dialect, and removes keywords that only ajv
 * knows. Throws the reason if it cannot be used.
 */
export function prepareSchema(schema: JsonObject): ThreadRequest {
  if (isValueDeeperThan(MESSAGE_DEPTH, schema)) throw unusable(tooDeepMessage());
  const text = JSON.stringify(schema);
  if (text.length > MAX_SCHEMA_LENGTH)
    throw unusable(`it has ${text.length} characters, and may have at most ${MAX_SCHEMA_LENGTH}`);
  const { $schema = DEFAULT_DIALECT, ...copy } = objectOf(JSON.parse(text));
  const dialect = DIALECTS.get(stringOf($schema).replace(/#$/, ''));
  if (dialect === undefined)
    throw unusable(`$schema: must be one of ${[...DIALECTS.keys()].map((uri) => `"${uri}"`).join(', ')}`);
  const references = new Set<string>();
  const standard = standardSchema(copy, references);
  const inherited = [...references].find((reference) => isInherited(reference, standard));
  if (inherited !== undefined) throw unusable(unresolvedReference(inherited));
  return { dialect, schema: JSON.stringify(standard) };
}

/** The reason for a reference that leads to nothing in the schema. */
export function unresolvedReference(reference: string): string {
  return `$ref: cannot resolve "${reference}": references can only refer to the schema itself`;
}

function unusable(reason: string): PolypodError {
  return new PolypodError('bad-request', reason);
}

/** In characters of JSON. Limits the time that ajv needs, and the memory of compiled schemas. */
const MAX_SCHEMA_LENGTH = 131_072;

/** The dialects and the modules of ajv that implement them. draft-06 schemas are valid draft-07 schemas. */
const DIALECTS: ReadonlyMap<string, string> = new Map([
  ['https://json-schema.org/draft/2020-12/schema', 'ajv/dist/2020.js'],
  ['https://json-schema.org/draft/2019-09/schema', 'ajv/dist/2019.js'],
  ['http://json-schema.org/draft-07/schema', 'ajv'],
  ['http://json-schema.org/draft-06/schema', 'ajv'],
]);
const [DEFAULT_DIALECT] = DIALECTS.keys();

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
const SCHEMAS: ReadonlySet<string> = new Set(
  `additionalItems additionalProperties allOf anyOf contains else if items not oneOf prefixItems propertyNames then
  unevaluatedItems unevaluatedProperties`.split(/\s+/),
);

/** Keywords with a map from names to schemas. */
const MAPS: ReadonlySet<string> = new Set(
  '$defs definitions dependencies dependentSchemas patternProperties properties'.split(' '),
);

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
