import { withoutUndefined } from '../base/index.ts';
import type { Cost, Usage } from '../llm/index.ts';
import type { ModelUse } from '../tools/index.ts';
import type { Totals } from './event.ts';

export const NO_TOTALS: Totals = {
  turns: 0,
  toolCalls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadInputTokens: 0,
  cacheCreationInputTokens: 0,
  cost: 0,
};

export function countTurn(totals: Totals, usage: Usage | undefined, cost: Cost | undefined): Totals {
  return addTotals(totals, {
    turns: 1,
    toolCalls: 0,
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    cacheReadInputTokens: usage?.cacheReadInputTokens ?? 0,
    cacheCreationInputTokens: usage?.cacheCreationInputTokens ?? 0,
    ...(cost === undefined ? {} : { cost: cost.total }),
  });
}

export function countCalls(totals: Totals, toolCalls: number): Totals {
  return { ...totals, toolCalls: totals.toolCalls + toolCalls };
}

/** Adds totals. The cost is unknown if either part is unknown, because a partial sum would be misleading. */
export function addTotals(a: Totals, b: Totals): Totals {
  const { cost: _, ...counted } = {
    turns: a.turns + b.turns,
    toolCalls: a.toolCalls + b.toolCalls,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadInputTokens: a.cacheReadInputTokens + b.cacheReadInputTokens,
    cacheCreationInputTokens: a.cacheCreationInputTokens + b.cacheCreationInputTokens,
    cost: undefined,
  };
  return a.cost === undefined || b.cost === undefined ? counted : { ...counted, cost: a.cost + b.cost };
}

/** Adds what a call used of models. Its turns and calls are not those of this conversation. */
export function withUse(totals: Totals, { cost, ...used }: ModelUse): Totals {
  return addTotals(totals, { turns: 0, toolCalls: 0, ...used, ...withoutUndefined({ cost }) });
}

/** The usage between two points in time. */
export function subtractTotals(now: Totals, before: Totals): Totals {
  const minus = Object.fromEntries(Object.entries(before).map(([name, value]) => [name, -Number(value)]));
  return addTotals(now, { ...NO_TOTALS, ...minus });
}
