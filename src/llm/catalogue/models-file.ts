import { messageOf, parseJson, PolypodError, shape } from '../../base/index.ts';
import { type ModelEntry, modelReference } from './catalogue.ts';

const { choice, fields, boolean, listOf, number, text } = shape;

/** Parses a models.json, a list of entries. Throws one error that lists every problem in the file. */
export function parseModels(content: string, file: string): readonly ModelEntry[] {
  const problems: shape.Problem[] = [];
  const entries = MODELS.read(parseFile(content, file), [], (problem) => problems.push(problem));
  const messages = [...problems.map(problemMessage), ...duplicateMessages(entries ?? [])];
  if (entries !== undefined && messages.length === 0) return entries;
  throw new PolypodError('bad-request', messages.map((sentence) => `${file}: ${sentence}`).join('\n'));
}

const name = text();
const tokens = number(
  'a number of tokens, for example 200000',
  (value) => Number.isSafeInteger(value) && value > 0,
);
const rate = number('a number of USD per million tokens, for example 2.5', (value) => value >= 0);
const rates = { input: rate, output: rate };
const cacheRates = { cacheRead: rate, cacheWrite: rate };

const MODELS = listOf(
  fields(
    { account: text('the name of an account, without a slash', (value) => !value.includes('/')), id: name },
    {
      name,
      contextWindow: tokens,
      maxOutput: tokens,
      reasoning: boolean,
      input: listOf(choice(['text', 'image'])),
      price: fields(rates, { ...cacheRates, tiers: listOf(fields({ above: tokens, ...rates }, cacheRates)) }),
    },
  ),
);

function parseFile(content: string, file: string): unknown {
  try {
    return parseJson(content);
  } catch (thrown) {
    const message = `${file}: not valid JSON (${messageOf(thrown)}): correct it, or move the file away`;
    throw new PolypodError('bad-request', message, { cause: thrown });
  }
}

function problemMessage({ path, text }: shape.Problem): string {
  const [index, ...keys] = path;
  if (index === undefined)
    return `the file ${text}, for example [{ "account": "groq", "id": "a-new-model" }]`;
  return [`entry ${Number(index) + 1}:`, ...quotedPath(keys), text].join(' ');
}

function quotedPath(keys: shape.Path): string[] {
  return keys.length === 0 ? [] : [`"${keys.join('.')}"`];
}

function duplicateMessages(entries: readonly ModelEntry[]): string[] {
  const first = new Map<string, number>();
  return entries.flatMap((entry, index) => {
    const reference = modelReference(entry);
    const earlier = first.get(reference);
    if (earlier === undefined) first.set(reference, index);
    return earlier === undefined
      ? []
      : [`entry ${index + 1}: ${reference} repeats entry ${earlier + 1}: keep one`];
  });
}
