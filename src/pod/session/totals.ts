import { isObject, type JsonObject, numberOf, objectOf, withoutUndefined } from '../../base/index.ts';
import type { Item } from '../../llm/index.ts';
import { type Totals, withUse } from '../../worker/index.ts';
import type { Spent } from './usage.ts';

/** Adds an answer. A sum that includes an unknown cost is unknown. */
export function withAnswer(totals: Totals, items: readonly Item[], { usage, cost }: Spent): Totals {
  const { cost: before, ...counts } = totals;
  const after = {
    turns: counts.turns + 1,
    toolCalls: counts.toolCalls + items.filter(({ type }) => type === 'tool-call').length,
    inputTokens: counts.inputTokens + (usage?.inputTokens ?? 0),
    outputTokens: counts.outputTokens + (usage?.outputTokens ?? 0),
    cacheReadInputTokens: counts.cacheReadInputTokens + (usage?.cacheReadInputTokens ?? 0),
    cacheCreationInputTokens: counts.cacheCreationInputTokens + (usage?.cacheCreationInputTokens ?? 0),
  };
  return before === undefined || cost === undefined ? after : { ...after, cost: before + cost.total };
}

/** Adds what the call of a recorded result used of models. */
export function withCallUse(totals: Totals, { details }: JsonObject): Totals {
  const { used } = objectOf(details);
  if (!isObject(used)) return totals;
  const { turns: _, toolCalls: _calls, ...use } = readTotals(used);
  return withUse(totals, use);
}

/** Reads totals that Polypod wrote. */
export function readTotals(value: JsonObject): Totals {
  const count = (key: string) => numberOf(value[key]) ?? 0;
  const cost = numberOf(value.cost);
  return {
    turns: count('turns'),
    toolCalls: count('toolCalls'),
    inputTokens: count('inputTokens'),
    outputTokens: count('outputTokens'),
    cacheReadInputTokens: count('cacheReadInputTokens'),
    cacheCreationInputTokens: count('cacheCreationInputTokens'),
    ...withoutUndefined({ cost }),
  };
}
