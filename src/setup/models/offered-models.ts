import { PolypodError } from '../../base/index.ts';
import { accountsFrom, type Environment, type ThinkingMode, vendorNamed, WIRES } from '../../llm/index.ts';
import type { OfferedModel } from '../../pod/index.ts';
import { providers } from '../../registry.ts';
import type { Config } from '../config/config.ts';
import type { ModelAccess, ReadyModel } from './model-access.ts';
import { readModels } from './model-files.ts';
import type { DataPaths } from '../paths/data-paths.ts';

export interface OfferOptions {
  readonly env: Environment;
  readonly config: Config;
  readonly dataPaths: DataPaths;
  readonly access: ModelAccess;
}

/** All models for which there is an account now, and the one that answers if nobody chooses. */
export async function offeredModels({
  env,
  config,
  dataPaths,
  access,
}: OfferOptions): Promise<readonly OfferedModel[]> {
  const [known, best] = await Promise.all([knownModels({ env, config, dataPaths }), access.choose()]);
  const chosen = offeredModel(best);
  const isKnown = known.some(({ provider, id }) => provider === chosen.provider && id === chosen.id);
  return isKnown ? known : [chosen, ...known];
}

/** The models of the catalogue for which there is an account now. */
export async function knownModels({
  env,
  config,
  dataPaths,
}: Omit<OfferOptions, 'access'>): Promise<readonly OfferedModel[]> {
  const { models } = await readModels(dataPaths);
  const accounts = accountsFrom(env, config.accounts);
  return models.flatMap((model) => {
    const account = accounts.find(({ name }) => name === model.account);
    return account === undefined ? [] : [offeredModel({ model, llm: { account } })];
  });
}

/** A model as clients are told of it. */
export function offeredModel({
  model,
  llm,
}: {
  readonly model: ReadyModel['model'];
  readonly llm: { readonly account: Pick<ReadyModel['llm']['account'], 'wire' | 'baseUrl'> };
}): OfferedModel {
  const { account, id, name, reasoning, input, price, contextWindow, maxOutput } = model;
  const { wire, baseUrl } = llm.account;
  return {
    provider: account,
    id,
    name,
    wire: WIRES.find((known) => known === wire) ?? 'anthropic',
    baseUrl,
    reasoning,
    input,
    ...(price === undefined ? {} : { cost: price }),
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(maxOutput === undefined ? {} : { maxTokens: maxOutput }),
    ...(reasoning ? { thinkingMode: thinkingMode(wire, id) } : {}),
  };
}

function thinkingMode(wire: string, model: string): ThinkingMode {
  return providers.find(({ name }) => name === wire)?.thinkingMode?.(model) ?? 'effort';
}

/** In the words that clients look for. */
export function refuseUnknownProvider(provider: string, { accounts }: Pick<Config, 'accounts'>): void {
  if (provider === 'sim' || vendorNamed(provider) !== undefined) return;
  if (accounts.some(({ name }) => name === provider)) return;
  throw new PolypodError(
    'not-found',
    `Unknown provider "${provider}". polypod models lists those there are; others go under accounts in the configuration.`,
  );
}
