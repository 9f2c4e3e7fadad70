import { isObject, type JsonObject, numberOf, objectOf, withoutUndefined } from '../../base/index.ts';
import type { Cost, Usage } from '../../llm/index.ts';

/** The usage and cost of an answer; unknown values are absent. */
export interface Spent {
  readonly usage?: Usage;
  readonly cost?: Cost;
}

/** Complete, because readers of the format add it up unchecked; unknown values become 0. */
export function encodeUsage({ usage, cost }: Spent): JsonObject {
  const cacheRead = usage?.cacheReadInputTokens ?? 0;
  const cacheWrite = usage?.cacheCreationInputTokens ?? 0;
  // Their count excludes tokens that were read from or written to the cache.
  const input = Math.max(0, (usage?.inputTokens ?? 0) - cacheRead - cacheWrite);
  const output = usage?.outputTokens ?? 0;
  const totalTokens = usage?.totalTokens ?? input + output + cacheRead + cacheWrite;
  return { input, output, cacheRead, cacheWrite, totalTokens, cost: encodeCost(cost) };
}

function encodeCost(cost: Cost | undefined): JsonObject {
  const { input, output, cacheRead, cacheWrite, total } = cost ?? NO_COST;
  return { input, output, cacheRead, cacheWrite, total };
}

const NO_COST: Cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

/** What those fields cannot express: which zeros are unknown. */
export function usageNotes(spent: Spent): JsonObject {
  const read = plainSpent({ usage: encodeUsage(spent) });
  return {
    ...(isSame(read.usage, spent.usage) ? {} : { usage: spent.usage ? counted(spent.usage) : null }),
    ...(spent.cost === undefined ? { cost: null } : {}),
  };
}

/** The usage in an assistant message, counted our way. */
export function spentOn(message: JsonObject): Spent {
  const notes = objectOf(message.polypod);
  const plain = plainSpent(message);
  const usage = isObject(notes.usage) ? counted(notes.usage) : notes.usage === null ? undefined : plain.usage;
  const cost = notes.cost === null ? undefined : plain.cost;
  return withoutUndefined({ usage, cost });
}

function plainSpent(message: JsonObject): Spent {
  if (!isObject(message.usage)) return {};
  const { input, output, cacheRead, cacheWrite, totalTokens, cost } = message.usage;
  const [read, written] = [numberOf(cacheRead) ?? 0, numberOf(cacheWrite) ?? 0];
  const usage = counted({
    inputTokens: (numberOf(input) ?? 0) + read + written,
    outputTokens: output,
    totalTokens,
    cacheReadInputTokens: read,
    cacheCreationInputTokens: written,
  });
  return isObject(cost) ? { usage, cost: costIn(cost) } : { usage };
}

function costIn(cost: JsonObject): Cost {
  const part = (key: string) => numberOf(cost[key]) ?? 0;
  return {
    input: part('input'),
    output: part('output'),
    cacheRead: part('cacheRead'),
    cacheWrite: part('cacheWrite'),
    total: part('total'),
  };
}

const COUNTS = [
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'cacheReadInputTokens',
  'cacheCreationInputTokens',
  'reasoningTokens',
] as const;

/** The counts in a fixed order, without values that are not numbers. */
function counted(usage: { readonly [K in (typeof COUNTS)[number]]?: unknown }): Usage {
  const found = COUNTS.flatMap((key) => {
    const count = numberOf(usage[key]);
    return count === undefined ? [] : [[key, count] as const];
  });
  return Object.fromEntries(found);
}

function isSame(a: Usage | undefined, b: Usage | undefined): boolean {
  return COUNTS.every((key) => a?.[key] === b?.[key]) && (a === undefined) === (b === undefined);
}
