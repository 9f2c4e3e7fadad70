import {
  arrayOf,
  isObject,
  type JsonObject,
  numberOf,
  objectOf,
  PolypodError,
  stringOf,
  withoutUndefined,
} from '../../base/index.ts';
import type { InputKind, Model, Price, Rates, Tier } from './catalogue.ts';
import { findVendor } from './vendors.ts';

/**
 * Parses the catalogue that models.dev publishes as api.json: an object of providers, each with an object of models.
 * Parsing is lenient, because fields and providers are added every week. Keeps only known vendors, and of their models
 * only those that write text and are not deprecated.
 */
export function parseModelsDev(catalogue: unknown): Model[] {
  if (!isObject(catalogue))
    throw new PolypodError('bad-request', 'this is not the models.dev catalogue: it should be a JSON object');
  return Object.entries(catalogue).flatMap(([provider, entry]) => {
    const account = findVendor(provider)?.name;
    if (account === undefined) return [];
    return Object.entries(objectOf(objectOf(entry).models)).flatMap(([id, model]) =>
      modelOf(account, id, objectOf(model)),
    );
  });
}

function modelOf(account: string, id: string, model: JsonObject): Model[] {
  const { input, output } = objectOf(model.modalities);
  if (!arrayOf(output).includes('text') || model.status === 'deprecated') return [];
  const limit = objectOf(model.limit);
  const contextWindow = tokensOf(limit.context);
  const maxOutput = tokensOf(limit.output);
  const price = priceOf(objectOf(model.cost));
  return [
    {
      account,
      id,
      name: stringOf(model.name) || id,
      ...withoutUndefined({ contextWindow, maxOutput }),
      reasoning: model.reasoning === true,
      input: INPUT_KINDS.filter((kind) => kind === 'text' || arrayOf(input).includes(kind)),
      ...withoutUndefined({ price }),
    },
  ];
}

/** models.dev uses 0 for an unknown limit. */
function tokensOf(value: unknown): number | undefined {
  const tokens = numberOf(value);
  return tokens !== undefined && tokens > 0 ? tokens : undefined;
}

function priceOf(cost: JsonObject): Price | undefined {
  const rates = ratesOf(cost);
  if (rates === undefined) return undefined;
  const tiers = tiersOf(cost);
  return { ...rates, ...(tiers.length === 0 ? {} : { tiers }) };
}

/** `tiers` has its own thresholds; `context_over_200k` is the older format with a fixed one. */
function tiersOf(cost: JsonObject): Tier[] {
  const listed = arrayOf(cost.tiers)
    .map(objectOf)
    .flatMap((entry) => {
      const { type, size } = objectOf(entry.tier);
      return type === 'context' ? tierOf(entry, size) : [];
    });
  return listed.length > 0 ? listed : tierOf(objectOf(cost['context_over_200k']), 200_000);
}

function tierOf(entry: JsonObject, size: unknown): Tier[] {
  const above = tokensOf(size);
  const rates = ratesOf(entry);
  return above === undefined || rates === undefined ? [] : [{ above, ...rates }];
}

function ratesOf(entry: JsonObject): Rates | undefined {
  const input = numberOf(entry.input);
  const output = numberOf(entry.output);
  const cacheRead = numberOf(entry.cache_read);
  const cacheWrite = numberOf(entry.cache_write);
  if (input === undefined || output === undefined) return undefined;
  return {
    input,
    output,
    ...withoutUndefined({ cacheRead, cacheWrite }),
  };
}

const INPUT_KINDS: readonly InputKind[] = ['text', 'image'];
