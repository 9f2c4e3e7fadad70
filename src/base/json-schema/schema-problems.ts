import { messageOf } from '../errors.ts';
import { isObject, type JsonObject } from '../json.ts';
import { prepareSchema, unresolvedReference } from './prepare-schema.ts';
import { ellipsize } from '../text/truncate-text.ts';
import { fieldProblems, type ValidationError } from './problem-text.ts';
import { askThread, type ThreadAnswer, type ThreadRequest, TIME_LIMIT_MS } from './validator-thread.ts';

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
  try {
    const answer = askThread({ ...compiled, value: JSON.stringify(value) ?? 'null' });
    if (answer.type !== 'checked')
      return { unchecked: failureText(answer, 'the check', ': send simpler values') };
    return { problems: problemTexts(answer.errors, schema, 'arguments', 20) };
  } catch (thrown) {
    return { unchecked: messageOf(thrown) };
  }
}

/** Returns why a foreign JSON Schema cannot be used; undefined if it can. */
export function schemaError(schema: JsonObject): string | undefined {
  const compiled = compile(schema);
  return 'reason' in compiled ? compiled.reason : undefined;
}

type Compiled = ThreadRequest | { readonly reason: string };

/** Whether each schema can be used. A schema that takes too long is not tried again. */
const compiledSchemas = new WeakMap<JsonObject, Compiled>();

function compile(schema: JsonObject): Compiled {
  const known = compiledSchemas.get(schema);
  if (known !== undefined) return known;
  let compiled: Compiled;
  try {
    compiled = prepareSchema(schema);
    const answer = askThread(compiled);
    if (answer.type !== 'checked')
      compiled = { reason: failureText(answer, 'it', ' to compile: simplify it') };
    else if (answer.errors.length > 0)
      compiled = { reason: problemTexts(answer.errors, {}, 'schema', 3).join('; ') };
    if (answer.type === 'unavailable') return compiled;
  } catch (thrown) {
    compiled = { reason: messageOf(thrown) };
  }
  compiledSchemas.set(schema, compiled);
  return compiled;
}

type Failure = Exclude<ThreadAnswer, { readonly type: 'checked' }>;

/** Says why there is no answer. `late` and `next` complete the sentence about the time limit. */
function failureText(failure: Failure, late: string, next: string): string {
  if (failure.type === 'timed-out') return `${late} takes longer than ${TIME_LIMIT_MS / 1000} s${next}`;
  if (failure.type === 'unavailable') return failure.message;
  if (failure.missingRef !== undefined) return unresolvedReference(failure.missingRef);
  // The message of V8 for a stack overflow.
  const isOverflow = failure.message.startsWith('Maximum call stack');
  return isOverflow ? 'it refers to itself without end, or has too many parts' : failure.message;
}

/** Converts errors to lines, `path: reason`. `whole` is the name of the whole value. */
function problemTexts(
  errors: readonly ValidationError[],
  schema: JsonObject,
  whole: string,
  count: number,
): readonly string[] {
  const lines = fieldProblems(errors, schema).map(({ path, text }) =>
    ellipsize(`${path.join('.') || whole}: ${text}`, MAX_LINE),
  );
  return [...new Set(lines)].slice(0, count);
}

const MAX_LINE = 1_000;
