import type { JsonObject } from '../base/index.ts';
import type { LlmRequest, ThinkingLevel } from './request.ts';

/** How requests to Claude models set thinking and temperature. The fields are the same wherever the models are served. */
const BUDGETS: Readonly<Record<Exclude<ThinkingLevel, 'off'>, number>> = {
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 32_000,
};

const EFFORTS: Readonly<Record<Exclude<ThinkingLevel, 'off'>, string>> = {
  minimal: 'low',
  low: 'low',
  medium: 'medium',
  high: 'high',
  xhigh: 'max',
};

/** The fields `thinking` and `output_config`; none if thinking is off. */
export function claudeThinking({ model, thinking }: Pick<LlmRequest, 'model' | 'thinking'>): JsonObject {
  if (thinking === undefined || thinking === 'off') return {};
  if (usesEffort(model)) {
    return { thinking: { type: 'adaptive' }, output_config: { effort: EFFORTS[thinking] } };
  }
  return { thinking: { type: 'enabled', budget_tokens: BUDGETS[thinking] } };
}

/** The thinking budget that is part of the token limit; 0 for models without one. */
export function thinkingBudget({ model, thinking }: Pick<LlmRequest, 'model' | 'thinking'>): number {
  return thinking === undefined || thinking === 'off' || usesEffort(model) ? 0 : BUDGETS[thinking];
}

/** The beta that lets a model with a thinking budget think between tool calls; undefined if the request needs none. */
export function interleavedThinkingBeta(request: LlmRequest): string | undefined {
  return request.tools?.length && thinkingBudget(request) > 0 ? 'interleaved-thinking-2025-05-14' : undefined;
}

/** From 4.6 on, models take an effort and decide how long to think; older models take a token budget. */
export function usesEffort(model: string): boolean {
  return claudeVersion(model) > 4.5;
}

/** Models from version 5 on reject a temperature. */
export function refusesTemperature(model: string): boolean {
  return claudeVersion(model) >= 5;
}

/** A Claude model without a version counts as the newest; models of other vendors with this API count as the oldest. */
export function claudeVersion(model: string): number {
  if (!model.includes('claude')) return 0;
  if (/claude-(?:[23]|instant)/.test(model)) return 3;
  const [, major, minor = '0'] = /(?:^|-)[a-z]+-(\d{1,2})(?:-(\d{1,2})(?!\d))?(?!\d)/.exec(model) ?? [];
  return major === undefined ? Number.POSITIVE_INFINITY : Number(`${major}.${minor}`);
}
