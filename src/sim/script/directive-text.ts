import { PolypodError } from '../../base/index.ts';

/**
 * The keys of a directive, by which any client can control the simulator without a script:
 *
 *     [[sim key=value key='value with spaces' …]]
 *
 * The last directive in the last user text applies. Keys that define an answer (`text`, `deltas`, `thinking`,
 * `tool`) replace the script's answer; other keys modify it.
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

export type DirectiveKey = keyof typeof DIRECTIVE_KEYS;
export type DirectiveValues = ReadonlyMap<DirectiveKey, string>;

/** Returns the keys and values of the last directive in the text, or undefined. */
export function parseDirectiveText(text: string): DirectiveValues | undefined {
  const found = [...text.matchAll(DIRECTIVE)].at(-1);
  if (found === undefined) {
    if (/\[\[sim\s/.test(text)) throw badDirective(`use [[sim key=value key='two words']]`);
    return undefined;
  }
  const values = new Map<DirectiveKey, string>();
  for (const [, key = '', quoted, bare] of (found[1] ?? '').matchAll(PAIR)) {
    if (!isKey(key))
      throw badDirective(`unknown key "${key}"; known keys: ${Object.keys(DIRECTIVE_KEYS).join(', ')}`);
    values.set(key, quoted ?? bare ?? '');
  }
  for (const [key, needed] of REQUIRES) {
    if (values.has(key) && !values.has(needed)) throw badDirective(`${key}= requires ${needed}=`);
  }
  return values;
}

/** Returns the text without its directives, for a model that repeats the question. */
export function withoutDirectives(text: string): string {
  return text.replace(DIRECTIVE, '').trim();
}

/** Returns the value of a key if it is an allowed one. */
export function choiceValue<T extends string>(
  values: DirectiveValues,
  key: DirectiveKey,
  allowed: readonly T[],
): T | undefined {
  const value = values.get(key);
  const match = allowed.find((one) => one === value);
  if (value !== undefined && match === undefined) {
    throw badDirective(`unknown ${key} "${value}"; known: ${allowed.join(', ')}`);
  }
  return match;
}

export function numberValue(values: DirectiveValues, key: DirectiveKey): number | undefined {
  const value = values.get(key);
  if (value === undefined) return undefined;
  if (!/^\d+$/.test(value)) throw badDirective(`${key}=${value} is not a whole number`);
  return Number(value);
}

export function badDirective(problem: string): PolypodError {
  return new PolypodError('bad-request', `sim directive: ${problem}`);
}

function isKey(key: string): key is DirectiveKey {
  return Object.hasOwn(DIRECTIVE_KEYS, key);
}

/** Keys that require another key. */
const REQUIRES: readonly (readonly [DirectiveKey, DirectiveKey])[] = [
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
