import type { Model, Rates } from './catalogue.ts';
import type { Usage } from '../event.ts';

/** The cost of a request in USD: four parts and their sum. */
export interface Cost {
  /** For the part of the prompt that was neither read from nor written to the cache. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly total: number;
}

/**
 * The cost of a request, or undefined if it is unknown: no price, no token counts, or cached tokens without a price.
 * A provider that reports no cache tokens is assumed to have used no cache.
 */
export function costOf(model: Pick<Model, 'price'>, usage: Usage): Cost | undefined {
  const { inputTokens, outputTokens } = usage;
  if (model.price === undefined || inputTokens === undefined || outputTokens === undefined) return undefined;
  const rates = ratesFor(model.price, inputTokens);
  const readTokens = usage.cacheReadInputTokens ?? 0;
  const writeTokens = usage.cacheCreationInputTokens ?? 0;
  const cacheRead = partOf(readTokens, rates.cacheRead);
  const cacheWrite = partOf(writeTokens, rates.cacheWrite);
  if (cacheRead === undefined || cacheWrite === undefined) return undefined;
  // inputTokens is the whole prompt. If a provider reports less than the sum of the cached parts, the parts are right.
  const input = (Math.max(0, inputTokens - readTokens - writeTokens) * rates.input) / MILLION;
  const output = (outputTokens * rates.output) / MILLION;
  return { input, output, cacheRead, cacheWrite, total: input + output + cacheRead + cacheWrite };
}

function ratesFor(price: NonNullable<Model['price']>, promptTokens: number): Rates {
  const reached = (price.tiers ?? []).filter(({ above }) => promptTokens > above);
  return reached.toSorted((a, b) => b.above - a.above)[0] ?? price;
}

function partOf(tokens: number, rate: number | undefined): number | undefined {
  if (tokens === 0) return 0;
  return rate === undefined ? undefined : (tokens * rate) / MILLION;
}

const MILLION = 1_000_000;
