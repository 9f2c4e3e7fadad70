import {
  arrayOf,
  isObject,
  type JsonObject,
  messageOf,
  numberOf,
  PolypodError,
  stringOf,
} from '../base/index.ts';
import type { InputKind, ModelEntry, Price, Rates, Tier } from './catalogue.ts';
import { nearest } from './nearest.ts';

/** Reads a models.json: a list of entries, strictly. Throws one error that names every mistake in the file. */
export function parseModels(text: string, file: string): ModelEntry[] {
  const entries = entriesIn(text, file);
  const problems = [...entries.flatMap(problemsOf), ...repetitionsIn(entries)];
  if (problems.length > 0)
    throw new PolypodError('bad-request', problems.map((problem) => `${file}: ${problem}`).join('\n'));
  return entries.filter(isObject).map(entryOf);
}

function entriesIn(text: string, file: string): readonly unknown[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (thrown) {
    throw new PolypodError(
      'bad-request',
      `${file}: not valid JSON (${messageOf(thrown)}): correct it, or move the file away`,
      { cause: thrown },
    );
  }
  if (Array.isArray(parsed)) return parsed;
  throw new PolypodError(
    'bad-request',
    `${file}: must be a list of models, for example [{ "account": "groq", "id": "…", "contextWindow": 131072 }]`,
  );
}

function problemsOf(entry: unknown, index: number): string[] {
  const where = `entry ${index + 1}`;
  if (!isObject(entry)) return [`${where}: must be an object with at least "account" and "id"`];
  return [
    ...['account', 'id'].filter((key) => entry[key] === undefined).map((key) => `"${key}" is missing`),
    ...mistakesIn(entry, MODEL, ''),
  ].map((problem) => `${where}: ${problem}`);
}

function repetitionsIn(entries: readonly unknown[]): string[] {
  const seen = new Map<string, number>();
  return entries.filter(isObject).flatMap((entry, index) => {
    const reference = `${stringOf(entry['account'])}/${stringOf(entry['id'])}`;
    const first = seen.get(reference);
    if (first === undefined) seen.set(reference, index);
    return first === undefined
      ? []
      : [`entry ${index + 1}: ${reference} is already entry ${first + 1}: keep one`];
  });
}

/** What a key may hold: the words for the error, and how to tell. An object is described by its own table. */
interface Expectation {
  readonly must: string;
  readonly holds: (value: unknown) => boolean;
  readonly inside?: Expectations;
}
type Expectations = Readonly<Record<string, Expectation>>;

function mistakesIn(object: JsonObject, table: Expectations, path: string): string[] {
  return Object.entries(object).flatMap(([key, value]) => {
    const expectation = Object.hasOwn(table, key) ? table[key] : undefined;
    if (expectation === undefined) return [unknownKey(path + key, key, Object.keys(table))];
    if (!expectation.holds(value))
      return [`"${path}${key}" must be ${expectation.must}, not ${shown(value)}`];
    const { inside } = expectation;
    if (inside === undefined) return [];
    return (Array.isArray(value) ? value : [value])
      .filter(isObject)
      .flatMap((part) => mistakesIn(part, inside, `${path}${key}.`));
  });
}

function unknownKey(path: string, key: string, known: readonly string[]): string {
  const guess = nearest(key, known);
  return `"${path}" is not a key: ${guess === undefined ? `there are ${known.join(', ')}` : `did you mean "${guess}"?`}`;
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

const NAME: Expectation = { must: 'text', holds: (value) => stringOf(value).trim() !== '' };
const TOKENS: Expectation = {
  must: 'a number of tokens, for example 200000',
  holds: (value) => Number.isSafeInteger(value) && (numberOf(value) ?? 0) > 0,
};
const FLAG: Expectation = { must: 'true or false', holds: (value) => typeof value === 'boolean' };
const RATE: Expectation = {
  must: 'a number of USD per million tokens, for example 2.5',
  holds: (value) => (numberOf(value) ?? -1) >= 0,
};
const RATES = { input: RATE, output: RATE, cacheRead: RATE, cacheWrite: RATE };
const hasRates = (value: unknown) =>
  isObject(value) && value['input'] !== undefined && value['output'] !== undefined;

const TIERS: Expectation = {
  must: 'a list of objects with "above", "input" and "output"',
  holds: (value) =>
    Array.isArray(value) &&
    value.every((tier) => hasRates(tier) && isObject(tier) && tier['above'] !== undefined),
  inside: { above: TOKENS, ...RATES },
};

const MODEL: Expectations & Record<keyof ModelEntry, Expectation> = {
  account: { ...NAME, must: 'the name of an account without a slash', holds: isAccountName },
  id: NAME,
  name: NAME,
  contextWindow: TOKENS,
  maxOutput: TOKENS,
  reasoning: FLAG,
  input: {
    must: 'a list of "text" and "image"',
    holds: (value) => Array.isArray(value) && value.length > 0 && value.every(isInputKind),
  },
  price: {
    must: 'an object with "input" and "output", in USD per million tokens',
    holds: hasRates,
    inside: { ...RATES, tiers: TIERS },
  },
};

function isAccountName(value: unknown): boolean {
  return NAME.holds(value) && !stringOf(value).includes('/');
}

function isInputKind(value: unknown): value is InputKind {
  return value === 'text' || value === 'image';
}

/** Only for an entry in which no mistake was found. */
function entryOf(entry: JsonObject): ModelEntry {
  const { name, contextWindow, maxOutput, reasoning, input, price } = entry;
  return {
    account: stringOf(entry['account']),
    id: stringOf(entry['id']),
    ...(name === undefined ? {} : { name: stringOf(name) }),
    ...(typeof contextWindow === 'number' ? { contextWindow } : {}),
    ...(typeof maxOutput === 'number' ? { maxOutput } : {}),
    ...(typeof reasoning === 'boolean' ? { reasoning } : {}),
    ...(Array.isArray(input) ? { input: input.filter(isInputKind) } : {}),
    ...(isObject(price) ? { price: priceOf(price) } : {}),
  };
}

function priceOf(price: JsonObject): Price {
  const { tiers } = price;
  return {
    ...ratesOf(price),
    ...(tiers === undefined ? {} : { tiers: arrayOf(tiers).filter(isObject).map(tierOf) }),
  };
}

function tierOf(tier: JsonObject): Tier {
  return { above: numberOf(tier['above']) ?? 0, ...ratesOf(tier) };
}

function ratesOf(rates: JsonObject): Rates {
  const { cacheRead, cacheWrite } = rates;
  return {
    input: numberOf(rates['input']) ?? 0,
    output: numberOf(rates['output']) ?? 0,
    ...(typeof cacheRead === 'number' ? { cacheRead } : {}),
    ...(typeof cacheWrite === 'number' ? { cacheWrite } : {}),
  };
}
