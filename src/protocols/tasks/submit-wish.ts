import { isObject, type JsonObject, shape } from '../../base/index.ts';
import { readFields } from './errors.ts';
import { MODES } from './keys/key.ts';
import { type SubmitRequest, TASK_TYPES, type WireContext } from './wire.ts';

const MOST_PATHS = 100;

const path = shape.text(
  'an absolute path without zero characters',
  (text) => text.startsWith('/') && !text.includes('\0') && text.length <= 4_096,
);

const CONTEXT: shape.Shape<WireContext> = known(
  shape.fields(
    {},
    {
      workingDirectory: path,
      model: shape.text('a model reference such as openai/gpt-5', (model) => model.length <= 200),
      permissionMode: shape.choice(MODES),
      allowedPaths: bounded(shape.listOf(path)),
      files: bounded(shape.listOf(shape.text())),
      maxTurns: shape.count(1),
      budget: shape.number('an amount of 0 or more', (amount) => amount >= 0),
    },
  ),
);

/** Names of clients' own, kept in a header and told to people. */
const name = shape.ruled(shape.text(), (text) =>
  text.length <= 200 && !/\p{Cc}/u.test(text)
    ? undefined
    : 'must be at most 200 characters, none of them a control character',
);

/** The body of `POST /submit_task`. */
export const SUBMIT: shape.Shape<SubmitRequest> = known(
  shape.fields(
    { sessionId: name, userPrompt: shape.text(), taskType: shape.choice(TASK_TYPES) },
    { context: CONTEXT },
  ),
);

export function readSubmit(body: JsonObject): SubmitRequest {
  return readFields('the task', SUBMIT, body);
}

/**
 * The shape without its strictness about keys: clients may send more than we know. A key that we know may be left out, but is
 * not null: no schema of ours or of the seed allows that.
 */
export function known<T>(strict: shape.Shape<T>): shape.Shape<T> {
  const { properties, required } = strict.schema;
  const keys = new Set(isObject(properties) ? Object.keys(properties) : []);
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  return {
    schema: { ...strict.schema, additionalProperties: true },
    read: (value, at, report) => {
      if (!isObject(value)) return strict.read(value, at, report);
      const entries = Object.entries(value).filter(([key]) => keys.has(key));
      // One that is required is missing then, and is reported as such.
      const nulls = entries.filter(([key, part]) => part === null && !needed.includes(key));
      for (const [key] of nulls)
        report({ path: [...at, key], at: 'value', text: 'must not be null: leave it out' });
      const read = strict.read(Object.fromEntries(entries), at, report);
      return nulls.length > 0 ? undefined : read;
    },
  };
}

function bounded<T>(list: shape.Shape<readonly T[]>): shape.Shape<readonly T[]> {
  const { schema, read } = shape.ruled(list, (items) =>
    items.length > MOST_PATHS ? `must have at most ${MOST_PATHS} elements` : undefined,
  );
  return { schema: { ...schema, maxItems: MOST_PATHS }, read };
}
