import { PERMISSION_MODES } from '../../../pod/index.ts';
import { isObject, type JsonObject, shape } from '../../../base/index.ts';
import { readFields } from '../errors.ts';
import { filledText, wireCount, wireText } from '../text-fields.ts';
import { type SubmitRequest, TASK_TYPES, type WireContext } from '../wire.ts';

const MOST_PATHS = 100;
const CONTROL = '\\u0000-\\u001f\\u007f-\\u009f';
const PRINTED = `[^${CONTROL}]`;

/** In USD. */
const AMOUNT: shape.Shape<number> = {
  schema: { type: 'number', minimum: 0 },
  read: shape.number('an amount of 0 or more', (amount) => amount >= 0).read,
};

const path = wireText({
  must: 'an absolute path of at most 4096 characters, without null characters',
  pattern: '^/[^\\u0000]*$',
  longest: 4_096,
});

const CONTEXT: shape.Shape<WireContext> = ignoringUnknownKeys(
  shape.fields(
    {},
    {
      workingDirectory: path,
      model: wireText({ must: 'a model reference such as openai/gpt-5', longest: 200 }),
      permissionMode: shape.choice(PERMISSION_MODES),
      allowedPaths: bounded(shape.listOf(path)),
      files: bounded(shape.listOf(filledText)),
      maxTurns: wireCount(1),
      budget: AMOUNT,
    },
  ),
);

/** Names that clients choose. They are stored in the header of the session and shown to people. */
const name = wireText({
  must: 'text of at most 200 characters, none of them a control character',
  pattern: `^${PRINTED}*[^\\s${CONTROL}]${PRINTED}*$`,
  longest: 200,
});

/** The body of `POST /submit_task`. */
export const SUBMIT: shape.Shape<SubmitRequest> = ignoringUnknownKeys(
  shape.fields(
    { sessionId: name, userPrompt: filledText, taskType: shape.choice(TASK_TYPES) },
    { context: CONTEXT },
  ),
);

export function readSubmit(body: JsonObject): SubmitRequest {
  return readFields('the task', SUBMIT, body);
}

/**
 * Accepts unknown keys: clients may send more than this version knows. A known key can be absent but not null, as in our schema and the
 * reference.
 */
export function ignoringUnknownKeys<T>(strict: shape.Shape<T>): shape.Shape<T> {
  const { properties, required } = strict.schema;
  const keys = new Set(isObject(properties) ? Object.keys(properties) : []);
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  return {
    schema: { ...strict.schema, additionalProperties: true },
    read: (value, at, report) => {
      if (!isObject(value)) return strict.read(value, at, report);
      const entries = Object.entries(value).filter(([key]) => keys.has(key));
      // A required key with the value null is reported as missing.
      const nulls = entries.filter(([key, part]) => part === null && !needed.includes(key));
      for (const [key] of nulls)
        report({ path: [...at, key], at: 'value', text: 'must not be null: omit it' });
      const read = strict.read(Object.fromEntries(entries), at, report);
      return nulls.length > 0 ? undefined : read;
    },
  };
}

function bounded<T>(list: shape.Shape<readonly T[]>): shape.Shape<readonly T[]> {
  const { schema, read } = shape.refined(list, (items) =>
    items.length > MOST_PATHS ? `must have at most ${MOST_PATHS} elements` : undefined,
  );
  return { schema: { ...schema, maxItems: MOST_PATHS }, read };
}
