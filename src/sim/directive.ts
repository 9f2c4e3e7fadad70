import { PolypodError, tryParse } from '../base/index.ts';
import {
  type Answer,
  CHUNK_SIZE,
  generatedText,
  layPace,
  type Pace,
  type Part,
  type Stop,
  STOPS,
} from './answer.ts';
import { FAULT_KINDS, type Fault } from './fault.ts';
import { lastUserText, type SimRequest } from './request.ts';

/**
 * What a prompt may ask of the simulator, so that any client can have it without a script:
 *
 *     [[sim key=value key='value with spaces' …]]
 *
 * The last directive of the last user text counts. Keys that say what to answer (`text`, `deltas`, `thinking`, `tool`)
 * replace the script's answer; without one of them, the rest is laid over whatever the script would answer.
 */
export const DIRECTIVE_KEYS = {
  text: 'what it answers',
  deltas: 'or this many deltas of generated text',
  size: 'characters per delta',
  delay: 'milliseconds between two writes',
  batch: 'deltas per write',
  thinking: 'what it thinks first',
  tool: 'the tool it calls first; once the results are there, it answers',
  args: 'the arguments of that call, as JSON',
  calls: 'how many such calls, in parallel',
  interleave: '1: the fragments of parallel calls alternate',
  stop: 'why it stops',
  fault: 'what goes wrong',
  after: 'deltas before a fault inside the stream',
  times: 'how many requests the fault hits; each prompt text counts for itself',
  'retry-after': 'seconds that a refusal asks to wait',
  every: 'milliseconds between keep-alives',
  bytes: 'size of a huge frame',
} as const;

/** The parts of an answer that a directive names; what it leaves out is the script's. */
export interface Directive {
  readonly parts: readonly Part[] | undefined;
  readonly stop: Stop | undefined;
  readonly pace: Pace;
  readonly interleave: boolean;
  readonly fault: Fault | undefined;
}

/** Undefined without a directive; throws `bad-request` for one that cannot be read. */
export function directiveOf(request: SimRequest): Directive | undefined {
  const values = valuesIn(lastUserText(request));
  if (values === undefined) return undefined;
  const answering = request.messages.at(-1)?.role === 'tool' || !values.has('tool');
  return {
    parts: answering ? answerParts(values) : callParts(values),
    stop: oneOf(values, 'stop', STOPS),
    pace: {
      chunkSize: numeric(values, 'size'),
      delayMs: numeric(values, 'delay'),
      batch: numeric(values, 'batch'),
    },
    interleave: values.get('interleave') === '1',
    fault: faultOf(values),
  };
}

/** The text without its directives, for a model that repeats what it was asked. */
export function withoutDirectives(text: string): string {
  return text.replace(DIRECTIVE, '').trim();
}

/** The script's answer with the directive laid over it. */
export function directed(answer: Answer, directive: Directive): Answer {
  return {
    ...answer,
    stop: directive.stop ?? answer.stop,
    fault: directive.fault ?? answer.fault,
    pace: layPace(answer.pace, directive.pace),
    interleave: directive.interleave || (answer.interleave ?? false),
  };
}

type Key = keyof typeof DIRECTIVE_KEYS;
type Values = ReadonlyMap<Key, string>;

const DIRECTIVE = /\[\[sim((?:\s+[^\s=\]]+=(?:'[^']*'|[^\s'\]]*))*)\s*\]\]/g;
const PAIR = /([^\s=]+)=(?:'([^']*)'|(\S*))/g;

function valuesIn(text: string): Values | undefined {
  const found = [...text.matchAll(DIRECTIVE)].at(-1);
  if (found === undefined) {
    if (/\[\[sim\s/.test(text)) throw badDirective(`it reads [[sim key=value key='two words']]`);
    return undefined;
  }
  const values = new Map<Key, string>();
  for (const [, key = '', quoted, bare] of (found[1] ?? '').matchAll(PAIR)) {
    if (!isKey(key))
      throw badDirective(`unknown key "${key}"; known keys: ${Object.keys(DIRECTIVE_KEYS).join(', ')}`);
    values.set(key, quoted ?? bare ?? '');
  }
  return values;
}

function isKey(key: string): key is Key {
  return Object.hasOwn(DIRECTIVE_KEYS, key);
}

function answerParts(values: Values): readonly Part[] | undefined {
  const thinking = values.get('thinking');
  const text = values.get('text') ?? generated(values) ?? (values.has('tool') ? 'Done.' : undefined);
  if (thinking === undefined && text === undefined) return undefined;
  return [...thought(values), { text: text ?? '' }];
}

function callParts(values: Values): readonly Part[] {
  const args = values.get('args');
  const parsed = args === undefined ? {} : tryParse(args);
  if (parsed === undefined) throw badDirective(`args=${args} is not valid JSON`);
  const toolCall = { name: values.get('tool') ?? '', arguments: parsed };
  return [...thought(values), ...Array.from({ length: numeric(values, 'calls') ?? 1 }, () => ({ toolCall }))];
}

function thought(values: Values): readonly Part[] {
  const thinking = values.get('thinking');
  return thinking === undefined ? [] : [{ thinking }];
}

function generated(values: Values): string | undefined {
  const deltas = numeric(values, 'deltas');
  return deltas === undefined ? undefined : generatedText(deltas * (numeric(values, 'size') ?? CHUNK_SIZE));
}

function faultOf(values: Values): Fault | undefined {
  const kind = oneOf(values, 'fault', FAULT_KINDS);
  if (kind === undefined) return undefined;
  return {
    kind,
    after: numeric(values, 'after'),
    times: numeric(values, 'times'),
    retryAfterSeconds: numeric(values, 'retry-after'),
    everyMs: numeric(values, 'every'),
    bytes: numeric(values, 'bytes'),
  };
}

function oneOf<T extends string>(values: Values, key: Key, known: readonly T[]): T | undefined {
  const value = values.get(key);
  const match = known.find((one) => one === value);
  if (value !== undefined && match === undefined) {
    throw badDirective(`unknown ${key} "${value}"; known: ${known.join(', ')}`);
  }
  return match;
}

function numeric(values: Values, key: Key): number | undefined {
  const value = values.get(key);
  if (value === undefined) return undefined;
  if (!/^\d+$/.test(value)) throw badDirective(`${key}=${value} is not a whole number`);
  return Number(value);
}

function badDirective(why: string): PolypodError {
  return new PolypodError('bad-request', `sim directive: ${why}`);
}
