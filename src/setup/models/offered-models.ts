import { PolypodError, withoutUndefined } from '../../base/index.ts';
import {
  usableAccounts,
  type Environment,
  type ThinkingMode,
  findVendor,
  PROVIDER_APIS,
  settingsFor,
} from '../../llm/index.ts';
import type { OfferedModel } from '../../pod/index.ts';
import { providers } from '../../registry.ts';
import type { Config } from '../config/config.ts';
import type { ModelAccess } from './model-access.ts';
import { readModels } from './model-files.ts';
import type { DataPaths } from '../paths/data-paths.ts';
import type { ReadyModel } from './ready-model.ts';

export interface OfferedModelsOptions {
  readonly env: Environment;
  readonly config: Config;
  readonly dataPaths: DataPaths;
  readonly access: ModelAccess;
}

/** All models with a usable account, and the default model. */
export async function offeredModels({
  env,
  config,
  dataPaths,
  access,
}: OfferedModelsOptions): Promise<readonly OfferedModel[]> {
  const [known, best] = await Promise.all([knownModels({ env, config, dataPaths }), access.choose()]);
  const chosen = offeredModel(best);
  const isKnown = known.some(({ provider, id }) => provider === chosen.provider && id === chosen.id);
  return isKnown ? known : [chosen, ...known];
}

/** The models of the catalogue with a usable account. */
export async function knownModels({
  env,
  config,
  dataPaths,
}: Omit<OfferedModelsOptions, 'access'>): Promise<readonly OfferedModel[]> {
  const { models } = await readModels(dataPaths);
  const accounts = usableAccounts(env, config.accounts);
  return models.flatMap((model) => {
    const account = accounts.find(({ name }) => name === model.account);
    return account === undefined
      ? []
      : [offeredModel({ model, llm: { account: settingsFor(account, model.id) } })];
  });
}

/** A model as it is sent to clients. */
export function offeredModel({
  model,
  llm,
}: {
  readonly model: ReadyModel['model'];
  readonly llm: { readonly account: Pick<ReadyModel['llm']['account'], 'api' | 'baseUrl'> };
}): OfferedModel {
  const { account, id, name, reasoning, input, price, contextWindow, maxOutput } = model;
  const { api, baseUrl } = llm.account;
  return {
    provider: account,
    id,
    name,
    wire: PROVIDER_APIS.find((known) => known === api) ?? 'anthropic',
    baseUrl,
    reasoning,
    input,
    ...withoutUndefined({ cost: price, contextWindow, maxTokens: maxOutput }),
    ...(reasoning ? { thinkingMode: thinkingMode(api, id) } : {}),
  };
}

function thinkingMode(api: string, model: string): ThinkingMode {
  return providers.find(({ name }) => name === api)?.thinkingMode?.(model) ?? 'effort';
}

/** Throws for an unknown provider, with a message that clients match. */
export function refuseUnknownProvider(provider: string, { accounts }: Pick<Config, 'accounts'>): void {
  if (provider === 'sim' || findVendor(provider) !== undefined) return;
  if (accounts.some(({ name }) => name === provider)) return;
  throw new PolypodError(
    'not-found',
    `Unknown provider "${provider}". polypod models lists those there are; others go under accounts in the configuration.`,
  );
}
