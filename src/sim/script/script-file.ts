import { shape } from '../../base/index.ts';
import { type SimAnswer, STOPS } from './answer.ts';
import { FAULT_KINDS } from './fault.ts';

const { anyText, boolean, choice, fields, integerFrom, listOf, refined, text } = shape;

const count = integerFrom(0);

/** Any value: the arguments of a call. */
const anything: shape.Shape<unknown> = { schema: {}, read: (value) => value };

const part = refined(
  fields(
    {},
    {
      text: anyText,
      chunkSize: integerFrom(1),
      thinking: anyText,
      signature: text(),
      redacted: text(),
      refusal: anyText,
      toolCall: fields({ name: text() }, { id: text(), arguments: anything, argumentsText: anyText }),
    },
  ),
  (value) => {
    const kinds = Object.keys(value).filter((key) => PART_KINDS.includes(key));
    if (kinds.length !== 1) return `must have exactly one of ${PART_KINDS.join(', ')}`;
    const [kind = ''] = kinds;
    const stray = Object.keys(value).find((key) => key !== kind && OWNER[key] !== kind);
    return stray === undefined ? undefined : `has ${stray}, which belongs to ${OWNER[stray]}`;
  },
);

const PART_KINDS: readonly string[] = ['text', 'thinking', 'redacted', 'toolCall', 'refusal'];
/** The kind of part that an additional key belongs to. */
const OWNER: Readonly<Record<string, string>> = { chunkSize: 'text', signature: 'thinking' };

const usage = {
  inputTokens: count,
  outputTokens: count,
  cacheReadInputTokens: count,
  cacheCreationInputTokens: count,
  reasoningTokens: count,
};

const answer = fields(
  { parts: listOf(part) },
  {
    stop: choice(STOPS),
    usage: fields({}, usage),
    pace: fields({}, { chunkSize: integerFrom(1), deltas: count, delayMs: count, batch: integerFrom(1) }),
    interleave: boolean,
    fault: fields(
      { kind: choice(FAULT_KINDS) },
      {
        after: count,
        times: integerFrom(1),
        retryAfterSeconds: count,
        everyMs: integerFrom(1),
        bytes: count,
      },
    ),
  },
);

const answers = refined(listOf(answer), (list) =>
  list.length === 0 ? 'needs at least one answer' : undefined,
);

/** A script with its repetition: `{ "loop": true, "answers": [ … ] }`, or only the list. */
export const SCRIPT_FILE: shape.Shape<ScriptFile> = {
  schema: { oneOf: [answers.schema, { type: 'object' }] },
  read: (value, path, report) => {
    if (Array.isArray(value)) {
      const list = answers.read(value, path, report);
      return list && { answers: readAnswers(list), loop: false };
    }
    const read = fields({ answers }, { loop: boolean }).read(value, path, report);
    return read && { answers: readAnswers(read.answers), loop: read.loop ?? false };
  },
};

/** The content of a script file. */
export interface ScriptFile {
  readonly answers: readonly SimAnswer[];
  /** Start again after the last answer. */
  readonly loop: boolean;
}

/** The shape has checked that each part has exactly one kind, which its type does not say. */
function readAnswers(list: readonly object[]): readonly SimAnswer[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- validated by the shape
  return list as readonly SimAnswer[];
}
