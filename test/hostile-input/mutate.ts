import type { Random } from './random.ts';

export type Json = null | boolean | number | string | readonly Json[] | JsonMap | Raw;
export interface JsonMap {
  readonly [key: string]: Json;
}

/** Text that is inserted verbatim, because it is not valid JSON. */
export class Raw {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const lists = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
const maps = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;

const SMALL: readonly string[] = [
  ...[
    'null',
    'true',
    'false',
    '0',
    '-0',
    '1',
    '-1',
    '0.5',
    '1e999',
    '-1e999',
    '1e-999',
    '2147483648',
    '1e21',
  ],
  ...['9007199254740991', '9007199254740993', '-9007199254740993', '123456789012345678901234567890'],
  ...['""', '" "', '"\\u0000"', '"a\\u0000b"', '"\\ud800"', '"\\udc00\\ud800"', '"\\ufeff"', '"\u202eabc"'],
  ...['"\u2028\u2029"', '"\\n\\r\\n"', '"../../../../etc/passwd"', '"/proc/self/environ"', '"/tmp/\\u0000x"'],
  ...[
    '"__proto__"',
    '"constructor"',
    '"toString"',
    '"hasOwnProperty"',
    '"(a+)+$"',
    '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"',
  ],
  ...[
    '[]',
    '{}',
    '[[]]',
    '[null]',
    '{"":""}',
    '[{}]',
    '"[]"',
    '"{}"',
    '"null"',
    '"-1"',
    '"1e5"',
    '"Infinity"',
    '"NaN"',
  ],
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"toString":1,"hasOwnProperty":2,"valueOf":3,"toJSON":4,"then":5,"length":-1}',
  '{"id":1,"id":2,"type":"a","type":"b"}',
  ...[lists(16), lists(31), lists(33), lists(64), maps(40)],
];

/** Expensive values, chosen less often the larger they are. */
const LARGE: readonly (() => string)[] = [
  () => lists(127),
  () => lists(129),
  () => lists(513),
  () => lists(5_000),
  () => maps(4_000),
  () => maps(200),
  () => `"${'A'.repeat(1_000)}"`,
  () => `"${'é\\n'.repeat(1_000)}"`,
  () => `[${'0,'.repeat(2_000)}0]`,
  () => `{${Array.from({ length: 500 }, (_, at) => `"k${at}":${at}`).join(',')}}`,
  () => '9'.repeat(2_000),
  () => `"${'\\u0000'.repeat(500)}"`,
];
const HUGE: readonly (() => string)[] = [
  () => maps(10_000),
  () => lists(100_000),
  () => `"${'x'.repeat(300_000)}"`,
  () => `[${'{},'.repeat(100_000)}{}]`,
  () => `[${'"",'.repeat(200_000)}""]`,
  () => `{${Array.from({ length: 20_000 }, (_, at) => `"key-number-${at}":[${at}]`).join(',')}}`,
  () => `"${'a'.repeat(200_000)}!"`,
];

export function hostileText(random: Random): string {
  const roll = random.next();
  if (roll < 0.0006) return random.pick(HUGE)();
  if (roll < 0.03) return random.pick(LARGE)();
  return random.pick(SMALL);
}

const KEYS = [
  '__proto__',
  'constructor',
  '',
  'a'.repeat(300),
  '\u0000',
  'id',
  'type',
  'method',
  'params',
  'length',
  'then',
];

/** Returns the message with one to three hostile parts. Keys in `fixed` keep their values. */
export function mutated(message: Json, random: Random, fixed: ReadonlySet<string>): Json {
  let result = message;
  for (let count = 1 + random.below(3); count > 0; count -= 1) result = once(result, random, fixed);
  return result;
}

/** A template unchanged, mutated, damaged as text, or random bytes. */
export function payload(random: Random, message: JsonMap, fixed: ReadonlySet<string>): Uint8Array {
  const roll = random.next();
  if (roll < 0.08) return Buffer.from(encoded(message));
  if (roll < 0.12) return random.bytes(1 + random.below(200));
  if (roll < 0.15) return Buffer.from(hostileText(random));
  const changed = encoded(mutated(message, random, fixed));
  return roll < 0.3 ? damaged(changed, random) : Buffer.from(changed);
}

function once(value: Json, random: Random, fixed: ReadonlySet<string>): Json {
  if (value instanceof Raw || typeof value !== 'object' || value === null || random.chance(0.12))
    return new Raw(hostileText(random));
  if (isList(value)) {
    if (value.length === 0) return [new Raw(hostileText(random))];
    const at = random.below(value.length);
    return value.map((part, index) => (index === at ? once(part, random, fixed) : part));
  }
  const entries = Object.entries(value);
  const open = entries.filter(([key]) => !fixed.has(key));
  const roll = random.next();
  if (roll < 0.12 || open.length === 0)
    return map([...entries, [random.pick(KEYS), new Raw(hostileText(random))]]);
  const [chosen] = random.pick(open);
  if (roll < 0.22) return map(entries.filter(([key]) => key !== chosen));
  if (roll < 0.28) return map(entries.map(([key, part]) => [key === chosen ? random.pick(KEYS) : key, part]));
  if (roll < 0.33)
    return new Raw(
      `{${entries.map(([key, part]) => pair(key, part)).join(',')},${JSON.stringify(chosen)}:${hostileText(random)}}`,
    );
  return map(entries.map(([key, part]) => [key, key === chosen ? once(part, random, fixed) : part]));
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** Uses defineProperty: an assigned `__proto__` would be lost. */
function map(entries: readonly (readonly [string, Json])[]): JsonMap {
  return Object.fromEntries(entries);
}

function pair(key: string, value: Json): string {
  return `${JSON.stringify(key)}:${encoded(value)}`;
}

export function encoded(value: Json): string {
  if (value instanceof Raw) return value.text;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (isList(value)) return `[${value.map(encoded).join(',')}]`;
  return `{${Object.entries(value)
    .map(([key, part]) => pair(key, part))
    .join(',')}}`;
}

/** Returns the bytes of a text with one damaged position. */
export function damaged(text: string, random: Random): Buffer {
  const bytes = Buffer.from(text);
  const at = random.below(bytes.length + 1);
  switch (random.below(8)) {
    case 0:
      return bytes.subarray(0, at);
    case 1: {
      const copy = Buffer.from(bytes);
      if (copy.length > 0) copy[at % copy.length] = random.below(256);
      return copy;
    }
    case 2:
      return Buffer.concat([bytes.subarray(0, at), random.bytes(1 + random.below(8)), bytes.subarray(at)]);
    case 3:
      return Buffer.concat([bytes.subarray(0, at), random.pick(INVALID_UTF8), bytes.subarray(at)]);
    case 4:
      return Buffer.concat([Buffer.from('\ufeff'), bytes]);
    case 5:
      return Buffer.concat([bytes, bytes.subarray(at)]);
    case 6:
      return Buffer.from(text.replaceAll('"', "'"));
    default:
      return Buffer.from(
        `${' \t'.repeat(random.below(40))}${text}${random.pick(['', ' ', ',', '}', ']', '\u0000', '//'])}`,
      );
  }
}

const INVALID_UTF8 = ['ff', 'c0af', 'eda080', 'f4908080', 'e282', '80'].map((hex) => Buffer.from(hex, 'hex'));
