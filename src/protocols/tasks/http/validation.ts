import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import type { Static, TSchema } from 'typebox';
import { isObject, type JsonObject, nearestMatch, objectOf, type PolypodError } from '../../../base/index.ts';
import { httpRefusal } from '../../../wire/index.ts';

/** One error is enough: with all of them, a long list of wrong elements would become a much longer list of errors. */
const AJV = new Ajv2020({ allErrors: false, verbose: true, strict: false, validateFormats: false });

/** Validates a value. Throws an error that names the invalid field. */
export type Reader<T> = (value: unknown) => T;

/**
 * Compiles a schema. `what` names the value in errors, such as `the task`; undefined if its fields need no context. `nameOf` returns the
 * name of a field as clients write it.
 */
export function readerFor<S extends TSchema>(
  what: string | undefined,
  schema: S,
  nameOf: (field: string) => string = (field) => field,
): Reader<Static<S>> {
  const isValid = AJV.compile<Static<S>>(schema);
  return (value) => {
    if (isValid(value)) return value;
    throw invalidValue(what, problemIn(isValid.errors ?? [], objectOf(schema)), nameOf);
  };
}

function invalidValue(
  what: string | undefined,
  { path, text }: FieldProblem,
  nameOf: (field: string) => string,
): PolypodError {
  const field = nameOf(path.map(truncated).join('.')) || (what ?? 'the request');
  const subject = what === undefined ? '' : `${what} cannot be read: `;
  return httpRefusal(400, 'invalid_request', `${subject}${field} ${text}`, {
    details: { field, fields: [{ field, problem: text }] },
  });
}

interface FieldProblem {
  readonly path: readonly string[];
  /** Follows the name of the field: `must be text, not a list`. */
  readonly text: string;
}

function problemIn(errors: readonly ErrorObject[], root: JsonObject): FieldProblem {
  // The last error is that of the outermost rule.
  const error = errors.at(-1);
  return error === undefined ? { path: [], text: 'is invalid' } : problemOf(error, root);
}

function problemOf(
  { keyword, instancePath, params, data, parentSchema }: ErrorObject,
  root: JsonObject,
): FieldProblem {
  const path = instancePath.split('/').slice(1).map(unescapePointer);
  if (keyword === 'required') return { path: [...path, String(params.missingProperty)], text: 'is missing' };
  if (keyword === 'oneOf') return oneRequired(objectOf(parentSchema));
  if (data === null)
    return { path, text: isRequired(root, path) ? 'is missing' : 'must not be null: omit it' };
  return { path, text: `must ${expectation(keyword, objectOf(parentSchema), data)}` };
}

/** Exactly one of several fields must be present. */
function oneRequired({ oneOf }: JsonObject): FieldProblem {
  const [first = '', ...others] = (Array.isArray(oneOf) ? oneOf : []).flatMap((part) => {
    const { required } = objectOf(part);
    return Array.isArray(required) ? required.map(String) : [];
  });
  return { path: [first], text: `or ${others.join(' or ')} is needed, but not both` };
}

function expectation(keyword: string, schema: JsonObject, data: unknown): string {
  if (keyword === 'maxItems') return `have at most ${String(schema.maxItems)} elements`;
  if (Array.isArray(schema.enum))
    return `be one of ${schema.enum.join(', ')}, not ${quotedWord(data)}${hint(data, schema.enum)}`;
  const isBlank = typeof data === 'string' && data.trim() === '';
  const expected = describedAs(schema) ?? TYPE_NAMES[String(schema.type)] ?? String(schema.type);
  if (keyword === 'type') return `be ${expected}, not ${describeValue(data)}`;
  return isBlank ? `be ${expected}, not blank` : `be ${expected}`;
}

/** The beginning of the description, up to its first colon or period at the end of a word. */
function describedAs({ description, minimum, maximum }: JsonObject): string | undefined {
  if (typeof description === 'string' && /^(?:An?|Text) /.test(description))
    return description.replace(/(?::\s.*|\.)$/su, '').replace(/^[AT]/, (first) => first.toLowerCase());
  return typeof minimum === 'number' && typeof maximum === 'number'
    ? `a number from ${minimum} to ${maximum}`
    : undefined;
}

const TYPE_NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
};

/** Text is not quoted: it may be a secret in the wrong field. */
function describeValue(value: unknown): string {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return 'text';
  return Array.isArray(value) ? 'a list' : 'a map';
}

/** A word that is none of a list is quoted, as it may be misspelled. */
function quotedWord(value: unknown): string {
  return typeof value === 'string' && value.length <= MAX_QUOTED ? `"${value}"` : describeValue(value);
}

function hint(value: unknown, words: readonly unknown[]): string {
  const guess = typeof value === 'string' ? nearestMatch(value, words.map(String)) : undefined;
  return guess === undefined ? '' : `: did you mean "${guess}"?`;
}

function isRequired(root: JsonObject, path: readonly string[]): boolean {
  const container = path.slice(0, -1).reduce((schema, name) => {
    const { properties, items } = schema;
    return objectOf(isObject(properties) ? properties[name] : items);
  }, root);
  return Array.isArray(container.required) && container.required.includes(path.at(-1));
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}

/** Truncates a client's key for an error message. */
function truncated(text: string): string {
  return text.length <= MAX_QUOTED ? text : `${text.slice(0, MAX_QUOTED)}…`;
}

const MAX_QUOTED = 100;
