import { PolypodError } from '../../base/index.ts';

/**
 * What a prompt may ask of the simulator, so that any client can have it without a script:
 *
 *     [[sim key=value key='value with spaces' …]]
 *
 * The last directive of the last user text counts. Keys that say what to answer (`text`, `deltas`, `thinking`, `tool`)
 * replace the script's answer; without one of them, the rest is laid over whatever the script would answer.
 */
export const DIRECTIVE_KEYS = {
  text: 'the text of the answer',
  deltas: 'number of deltas of generated text, instead of text',
  size: 'characters per delta',
  delay: 'milliseconds between two writes',
  batch: 'deltas per write',
  thinking: 'the reasoning before the answer',
  tool: 'the tool to call; the answer follows the results',
  args: 'the arguments of that call, as JSON',
  calls: 'the number of parallel calls',
  interleave: '1: interleave the fragments of parallel calls',
  stop: 'the stop reason',
  fault: 'the fault to simulate',
  after: 'deltas before a fault inside the stream',
  times: 'how many requests fail, counted per prompt text',
  'retry-after': 'seconds in the Retry-After header of a rejected request',
  every: 'milliseconds between keep-alives',
  bytes: 'size of a huge frame',
} as const;

export type Key = keyof typeof DIRECTIVE_KEYS;
export type Values = ReadonlyMap<Key, string>;

/** The keys and values of the last directive in the text; undefined without one. */
export function valuesIn(text: string): Values | undefined {
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
  for (const [key, needed] of NEEDS) {
    if (values.has(key) && !values.has(needed))
      throw badDirective(`${key}= means nothing without ${needed}=`);
  }
  return values;
}

/** The text without its directives, for a model that repeats what it was asked. */
export function withoutDirectives(text: string): string {
  return text.replace(DIRECTIVE, '').trim();
}

/** The key's value if it is one of the known ones. */
export function oneOf<T extends string>(values: Values, key: Key, known: readonly T[]): T | undefined {
  const value = values.get(key);
  const match = known.find((one) => one === value);
  if (value !== undefined && match === undefined) {
    throw badDirective(`unknown ${key} "${value}"; known: ${known.join(', ')}`);
  }
  return match;
}

export function numberFor(values: Values, key: Key): number | undefined {
  const value = values.get(key);
  if (value === undefined) return undefined;
  if (!/^\d+$/.test(value)) throw badDirective(`${key}=${value} is not a whole number`);
  return Number(value);
}

export function badDirective(why: string): PolypodError {
  return new PolypodError('bad-request', `sim directive: ${why}`);
}

function isKey(key: string): key is Key {
  return Object.hasOwn(DIRECTIVE_KEYS, key);
}

/** Keys that only say more about another one. */
const NEEDS: readonly (readonly [Key, Key])[] = [
  ['args', 'tool'],
  ['calls', 'tool'],
  ['after', 'fault'],
  ['times', 'fault'],
  ['retry-after', 'fault'],
  ['every', 'fault'],
  ['bytes', 'fault'],
];

const DIRECTIVE = /\[\[sim((?:\s+[^\s=\]]+=(?:'[^']*'|[^\s'\]]*))*)\s*\]\]/g;
const PAIR = /([^\s=]+)=(?:'([^']*)'|(\S*))/g;
