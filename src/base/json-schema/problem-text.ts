import { arrayOf, type JsonObject, stringOf } from '../json.ts';

/** An error of ajv. */
export interface ValidationError {
  /** A JSON Pointer to the invalid value. */
  readonly instancePath: string;
  readonly schemaPath: string;
  readonly keyword: string;
  readonly params: { readonly [name: string]: unknown };
}

/** A problem of a value; `text` follows the name of the field: `is missing`. */
export interface FieldProblem {
  /** The keys that lead to the field; none for the whole value. */
  readonly path: readonly string[];
  readonly text: string;
}

/** Converts the errors of ajv to problems. `describe` returns what is different for an error. */
export function fieldProblems<E extends ValidationError>(
  errors: readonly E[],
  schema: JsonObject,
  describe: (error: E) => Partial<FieldProblem> = () => ({}),
): readonly FieldProblem[] {
  const problems: Problem[] = [];
  for (const error of errors) {
    const parts = COMBINED.has(error.keyword) ? takePartsOf(error, problems, schema) : [];
    // The problems of `then` and `else` say more than that they failed.
    if (error.keyword === 'if' && parts.length > 0) problems.push(...parts);
    else problems.push({ ...toProblem(error, parts), ...describe(error) });
  }
  return problems;
}

interface Problem extends FieldProblem {
  readonly error: ValidationError;
}

function toProblem(error: ValidationError, parts: readonly Problem[]): Problem {
  const { keyword, instancePath, params } = error;
  const child = CHILD_PARAMETERS.map((name) => params[name]).filter((value) => typeof value === 'string');
  const text = TEXTS[keyword]?.(params, parts) ?? `does not match the keyword "${keyword}"`;
  return { path: [...keysOf(instancePath), ...child], text, error };
}

/** Parameters that name the key that an error is about, relative to the path of the error. An error has at most one of them. */
const CHILD_PARAMETERS = ['missingProperty', 'additionalProperty', 'unevaluatedProperty', 'propertyName'];

/** Keywords whose error follows the errors of the schemas in them. */
const COMBINED: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'contains', 'if', 'propertyNames']);

/** Removes the problems that the schemas in a keyword caused from the end of the list, and returns them. */
function takePartsOf(
  { keyword, params, instancePath, schemaPath }: ValidationError,
  problems: Problem[],
  schema: JsonObject,
): readonly Problem[] {
  const parent = schemaPath.slice(0, schemaPath.lastIndexOf('/'));
  const combined = keyword === 'if' ? `${parent}/${stringOf(params.failingKeyword)}` : schemaPath;
  const isPart = ({ error }: Problem): boolean => {
    if (!isBelow(instancePath, error.instancePath)) return false;
    if (isBelow(combined, error.schemaPath) || !isBelow(parent, error.schemaPath)) return true;
    // The path of an error in a referenced schema starts at that schema.
    return !isPathIn(schema, error.schemaPath);
  };
  return problems.splice(problems.findLastIndex((problem) => !isPart(problem)) + 1);
}

function isBelow(parent: string, pointer: string): boolean {
  return `${pointer}/`.startsWith(`${parent}/`);
}

function isPathIn(schema: unknown, pointer: string): boolean {
  let value = schema;
  for (const key of keysOf(pointer)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false;
    value = Reflect.get(value, key);
  }
  return true;
}

type Parameters = ValidationError['params'];
type Text = (params: Parameters, parts: readonly Problem[]) => string;

const TEXTS: Readonly<Record<string, Text>> = {
  type: ({ type }) => `must be ${(Array.isArray(type) ? type : stringOf(type).split(',')).join(' or ')}`,
  enum: ({ allowedValues }) => `must be one of ${list(arrayOf(allowedValues).map(quoted), ', ')}`,
  const: ({ allowedValue }) => `must be one of ${quoted(allowedValue)}`,
  required: () => 'is missing',
  dependentRequired: isMissingWith,
  dependencies: isMissingWith,
  additionalProperties: () => 'is not a key',
  unevaluatedProperties: () => 'is not a key',
  propertyNames: (_, parts) => ['is not a valid key', ...parts.map(({ text }) => text)].join(': '),
  'false schema': () => 'is not allowed',
  minLength: ({ limit }) => `must have at least ${quoted(limit)} characters`,
  maxLength: ({ limit }) => `must have at most ${quoted(limit)} characters`,
  minItems: ({ limit }) => `must have at least ${quoted(limit)} items`,
  maxItems: mustHaveFewerItems,
  items: mustHaveFewerItems,
  additionalItems: mustHaveFewerItems,
  unevaluatedItems: mustHaveFewerItems,
  minProperties: ({ limit }) => `must have at least ${quoted(limit)} keys`,
  maxProperties: ({ limit }) => `must have at most ${quoted(limit)} keys`,
  minimum: ({ limit }) => `must be at least ${quoted(limit)}`,
  maximum: ({ limit }) => `must be at most ${quoted(limit)}`,
  exclusiveMinimum: ({ limit }) => `must be greater than ${quoted(limit)}`,
  exclusiveMaximum: ({ limit }) => `must be less than ${quoted(limit)}`,
  multipleOf: ({ multipleOf }) => `must be a multiple of ${quoted(multipleOf)}`,
  pattern: ({ pattern }) => `must match the pattern ${stringOf(pattern)}`,
  uniqueItems: ({ i, j }) => `must not have equal items, and items ${quoted(j)} and ${quoted(i)} are equal`,
  contains: ({ minContains, maxContains }) => {
    const most = maxContains === undefined ? '' : ` and at most ${quoted(maxContains)}`;
    return `must have at least ${quoted(minContains)}${most} items that match the schema in "contains"`;
  },
  not: () => 'must not match the schema in "not"',
  if: ({ failingKeyword }) => `must match the schema in "${stringOf(failingKeyword)}"`,
  anyOf: (_, parts) => alternatives(parts),
  oneOf: ({ passingSchemas }, parts) =>
    Array.isArray(passingSchemas)
      ? `must match only one of the schemas in "oneOf", and matches those at ${passingSchemas.join(' and ')}`
      : alternatives(parts),
};

function isMissingWith({ property }: Parameters): string {
  return `is missing, and required if there is "${stringOf(property)}"`;
}

function mustHaveFewerItems({ limit, len }: Parameters): string {
  return `must have at most ${quoted(limit ?? len)} items`;
}

/** `must be string or null` if the alternatives say no more, otherwise their problems one after the other. */
function alternatives(parts: readonly Problem[]): string {
  const depth = Math.min(...parts.map(({ error }) => keysOf(error.instancePath).length));
  const texts = parts.map(({ path, text }) => [...path.slice(depth), text].join(': '));
  if (texts.length === 0) return 'must match one of the alternatives';
  const types = texts.map((text) => /^must be (.*)$/s.exec(text)?.[1]).filter((type) => type !== undefined);
  if (types.length === texts.length) return `must be ${list(types, ' or ')}`;
  return `must match one of the alternatives: ${list(texts, ', or ')}`;
}

function list(texts: readonly string[], separator: string): string {
  const unique = [...new Set(texts)];
  return [...unique.slice(0, MAX_LISTED), ...(unique.length > MAX_LISTED ? ['…'] : [])].join(separator);
}

const MAX_LISTED = 50;

function quoted(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing';
}

/** The keys of a JSON Pointer. */
function keysOf(pointer: string): readonly string[] {
  const keys = pointer.split('/').slice(1);
  return keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
}
