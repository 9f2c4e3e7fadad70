import { PolypodError } from '../base/index.ts';
import { type Config, type ModelAccess, type Places, readModels } from '../daemon/index.ts';
import {
  type Account,
  accountsFrom,
  type Environment,
  type Model,
  THINKING_LEVELS,
  type ThinkingLevel,
  vendorNamed,
  WIRES,
} from '../llm/index.ts';
import type { OfferedModel } from '../protocols/index.ts';
import type { RpcOptions } from './rpc-options.ts';

/** Which model is asked for: how it is called, and how much it is to think. */
export interface ModelWish {
  readonly reference?: string;
  readonly thinking?: ThinkingLevel;
}

/** `--provider X --model Y`, where Y may be `X/id` and may end in a level: `gpt-6:high`. */
export function modelWish({
  provider,
  model,
  thinking,
}: Pick<RpcOptions, 'provider' | 'model' | 'thinking'>): ModelWish {
  const [, id = model, level] = /^(.+):([a-z]+)$/.exec(model ?? '') ?? [];
  const isLevel = THINKING_LEVELS.some((known) => known === level);
  const named = isLevel ? id : model;
  const reference = named === undefined ? provider : joined(provider, named);
  const chosen = THINKING_LEVELS.find((known) => known === (thinking ?? (isLevel ? level : undefined)));
  return {
    ...(reference === undefined ? {} : { reference }),
    ...(chosen === undefined ? {} : { thinking: chosen }),
  };
}

function joined(provider: string | undefined, id: string): string {
  return provider === undefined || id.startsWith(`${provider}/`) ? id : `${provider}/${id}`;
}

/** In the words that clients look for. */
export function refuseUnknownProvider(provider: string | undefined, { accounts }: Config): void {
  if (provider === undefined || provider === 'sim' || vendorNamed(provider) !== undefined) return;
  if (accounts.some(({ name }) => name === provider)) return;
  throw new PolypodError(
    'not-found',
    `Unknown provider "${provider}". polypod models lists those there are; others go under accounts in the configuration.`,
  );
}

/** Puts a key that was given on the command line where the provider's own variable is looked for. */
export function withKey(env: Environment, { apiKey, provider, model }: RpcOptions): Environment {
  const [name = ''] = (provider ?? model ?? '').split('/');
  const [variable] = vendorNamed(name)?.keyEnv ?? [];
  return apiKey === undefined || variable === undefined ? env : { ...env, [variable]: apiKey };
}

export interface OfferOptions {
  readonly env: Environment;
  readonly config: Config;
  readonly places: Places;
  readonly access: ModelAccess;
  /** The only ones, as `--models` says; all if it is empty. */
  readonly scope: readonly string[];
}

/** All models for which there is an account now, and the one that answers if nobody chooses. */
export async function offeredModels({
  env,
  config,
  places,
  access,
  scope,
}: OfferOptions): Promise<readonly OfferedModel[]> {
  const [{ models }, best] = await Promise.all([readModels(places), access.choose()]);
  const accounts = accountsFrom(env, config.accounts);
  const known = models.flatMap((model) => {
    const account = accounts.find(({ name }) => name === model.account);
    return account === undefined ? [] : [offered(model, account)];
  });
  const chosen = offered(best.model, best.llm.account);
  const all = known.some((model) => isSame(model, chosen)) ? known : [chosen, ...known];
  if (scope.length === 0) return all;
  const wanted = scope.map((word) => modelWish({ model: word }).reference);
  const scoped = all.filter(
    ({ provider, id }) => wanted.includes(`${provider}/${id}`) || wanted.includes(id),
  );
  return scoped.length === 0 ? all : scoped;
}

function isSame(one: OfferedModel, other: OfferedModel): boolean {
  return one.provider === other.provider && one.id === other.id;
}

function offered(model: Model, { wire, baseUrl }: Pick<Account, 'wire' | 'baseUrl'>): OfferedModel {
  const { account, id, name, reasoning, input, price, contextWindow, maxOutput } = model;
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
  };
}
