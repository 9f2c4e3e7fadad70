import { messageOf } from '../errors.ts';
import { isObject, type JsonObject } from '../json.ts';
import { type PreparedSchema, prepareSchema, unresolvedReference } from './prepare-schema.ts';
import { problemTexts } from './problem-text.ts';
import { askThread, type ThreadAnswer, TIME_LIMIT_MS } from './validator-thread.ts';

/** The problems of a value, none if it is valid; or why they are unknown. */
export type ValueCheck =
  | { readonly problems: readonly string[] }
  /** The schema is invalid, or the check takes too long. */
  | { readonly unchecked: string };

/**
 * Validates a value against a foreign JSON Schema and returns the problems as `path: reason`. A value that cannot be
 * validated has a problem.
 */
export function schemaProblems(value: unknown, schema: unknown): readonly string[] {
  const check = validateValue(value, schema);
  return 'problems' in check ? check.problems : [`arguments: cannot be checked: ${check.unchecked}`];
}

/** Validates a value against a foreign JSON Schema. What is neither an object nor `false` accepts every value. */
export function validateValue(value: unknown, schema: unknown): ValueCheck {
  if (!isObject(schema)) return { problems: schema === false ? ['arguments: is not allowed'] : [] };
  const compiled = compile(schema);
  if ('reason' in compiled) return { unchecked: `the JSON Schema cannot be used: ${compiled.reason}` };
  let text: string;
  try {
    text = JSON.stringify(value) ?? 'null';
  } catch (thrown) {
    return { unchecked: messageOf(thrown) };
  }
  const answer = askThread({ ...compiled, value: text });
  if (answer.type === 'valid') return { problems: [] };
  if (answer.type === 'invalid') return { problems: problemTexts(answer.errors, schema, 'arguments') };
  return { unchecked: failureText(answer) };
}

/** Returns why a foreign JSON Schema cannot be used; undefined if it can. */
export function schemaError(schema: JsonObject): string | undefined {
  const compiled = compile(schema);
  return 'reason' in compiled ? compiled.reason : undefined;
}

type Compiled = PreparedSchema | { readonly reason: string };

/** Whether each schema can be used. A schema that takes too long is not tried again. */
const compiledSchemas = new WeakMap<JsonObject, Compiled>();

function compile(schema: JsonObject): Compiled {
  const known = compiledSchemas.get(schema);
  if (known !== undefined) return known;
  const prepared = prepareSchema(schema);
  const answer = 'reason' in prepared ? undefined : askThread(prepared);
  const reason = answer === undefined ? undefined : compileFailure(answer);
  const compiled = reason === undefined ? prepared : { reason };
  if (answer?.type !== 'unavailable') compiledSchemas.set(schema, compiled);
  return compiled;
}

function compileFailure(answer: ThreadAnswer): string | undefined {
  if (answer.type === 'valid') return undefined;
  if (answer.type === 'invalid') return problemTexts(answer.errors, {}, 'schema').slice(0, 3).join('; ');
  if (answer.type === 'timed-out')
    return `it takes longer than ${TIME_LIMIT_MS / 1000} s to compile: simplify it`;
  return failureText(answer);
}

function failureText(answer: Exclude<ThreadAnswer, { readonly type: 'valid' | 'invalid' }>): string {
  if (answer.type === 'timed-out')
    return `the check takes longer than ${TIME_LIMIT_MS / 1000} s: send simpler values`;
  if (answer.type === 'unavailable') return answer.message;
  if (answer.missingRef !== undefined) return unresolvedReference(answer.missingRef);
  // The message of V8 for a stack overflow.
  if (answer.message.startsWith('Maximum call stack'))
    return 'it refers to itself without end, or has too many parts';
  return answer.message;
}
