import { PolypodError } from '../../base/index.ts';
import { type Config, knownModels, type DataPaths, readModels } from '../../setup/index.ts';
import { type Environment, findVendor } from '../../llm/index.ts';
import { type ModelSelection, rpcBeginnings } from '../../protocols/index.ts';

/** The inputs that determine the model of a client. */
export interface ModelCircumstances {
  readonly selection: ModelSelection;
  /** The patterns of `--models`. */
  readonly models: readonly string[];
  readonly env: Environment;
  readonly dataPaths: DataPaths;
  readonly config: Config;
}

/** The selection of the first model of `--models`, unless another one is named. */
export async function withScope({
  selection,
  models,
  env,
  config,
  dataPaths,
}: ModelCircumstances): Promise<ModelSelection> {
  if (models.length === 0 || selection.reference !== undefined) return selection;
  const { modelScope, firstOf } = await rpcBeginnings();
  const [first] = modelScope(await knownModels({ env, config, dataPaths }), models).models;
  return first === undefined ? selection : firstOf(first, selection);
}

/**
 * The configuration with the key of `--api-key` in the account that serves the model: a configured one or a vendor's. The
 * key is put into no variable, where commands and extensions could find it.
 */
export async function withKey(
  apiKey: string,
  { selection, models, env, dataPaths, config }: ModelCircumstances,
): Promise<Config> {
  const reference = selection.reference ?? models[0] ?? (env.POLYPOD_MODEL || config.model);
  if (reference === undefined)
    throw new PolypodError('bad-request', '--api-key needs a model: add --model, --provider or --models');
  // The simulated model needs no key.
  if (reference.split('/')[0] === 'sim') return config;
  const name =
    configuredFor(reference, config) ??
    (await accountOf(reference, selection.reference === undefined, dataPaths));
  const key = { text: apiKey, source: '--api-key' };
  const isConfigured = config.accounts.some((account) => account.name === name);
  return {
    ...config,
    accounts: isConfigured
      ? config.accounts.map((account) => (account.name === name ? { ...account, key } : account))
      : [{ name, key }, ...config.accounts],
  };
}

/** The account or vendor in the first part of the reference. */
function configuredFor(reference: string, config: Config): string | undefined {
  const [prefix = reference] = reference.split('/');
  if (config.accounts.some(({ name }) => name === prefix)) return prefix;
  return findVendor(prefix)?.name;
}

/** The account of a model in the catalogue. Only in a scope can the reference be part of a name. */
async function accountOf(reference: string, isPattern: boolean, dataPaths: DataPaths): Promise<string> {
  const { modelScope } = await rpcBeginnings();
  const known = (await readModels(dataPaths)).models.map(({ account, id, name }) => ({
    provider: account,
    id,
    name,
  }));
  const found = isPattern
    ? modelScope(known, [reference]).models[0]?.model
    : known.find(({ id }) => id === reference);
  if (found !== undefined) return found.provider;
  throw new PolypodError(
    'not-found',
    `--api-key has no account: the model "${reference}" is unknown; add --provider NAME`,
  );
}
