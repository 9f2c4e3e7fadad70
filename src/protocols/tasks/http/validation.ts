import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { type Static, type TSchema, Type } from 'typebox';
import {
  arrayOf,
  type FieldProblem,
  fieldProblems,
  type JsonObject,
  objectOf,
  shape,
} from '../../../base/index.ts';
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
    const [first] = fieldProblems(isValid.errors ?? [], objectOf(schema), describe);
    const { path, text: problem } = first ?? { path: [], text: 'is invalid' };
    const field = nameOf(shape.truncatedName(path)) || (what ?? 'the request');
    const subject = what === undefined ? '' : `${what} cannot be read: `;
    throw httpRefusal(400, 'invalid_request', `${subject}${field} ${problem}`, {
      details: { field, fields: [{ field, problem }] },
    });
  };
}

/** Describes an error with the words of the schema. */
function describe({ keyword, data, parentSchema }: ErrorObject): Partial<FieldProblem> {
  const schema = objectOf(parentSchema);
  const { enum: words, maxItems, oneOf, type } = schema;
  switch (keyword) {
    case 'required':
      return {};
    case 'oneOf': {
      const names = arrayOf(oneOf).flatMap((part) => arrayOf(objectOf(part).required).map(String));
      return { path: names.slice(0, 1), text: `or ${names.slice(1).join(' or ')} is needed, but not both` };
    }
    case 'maxItems':
      return { text: `must have at most ${String(maxItems)} elements` };
  }
  if (data === null) return { text: `must not be null${Type.IsOptional(parentSchema) ? ': omit it' : ''}` };
  if (Array.isArray(words)) return { text: shape.noneOfText(data, words.map(String)) };
  const expected = describedAs(schema) ?? TYPE_NAMES[String(type)] ?? String(type);
  const isBlank = typeof data === 'string' && data.trim() === '';
  const found = keyword === 'type' ? shape.describeValue(data) : isBlank ? 'blank' : undefined;
  return { text: `must be ${expected}${found === undefined ? '' : `, not ${found}`}` };
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
