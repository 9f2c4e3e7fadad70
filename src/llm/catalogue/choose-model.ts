import { PolypodError } from '../../base/index.ts';
import { type Account, settingsFor } from '../account.ts';
import {
  type AccountCandidate,
  findCandidate,
  accountCandidates,
  type ConfiguredAccount,
  openAccount,
} from './accounts.ts';
import { type Model, type ModelEntry, mergeModels, resolveModel, unlistedModel } from './catalogue.ts';
import type { Environment } from './environment.ts';

/** A model and the account that serves it. */
export interface ChosenModel {
  readonly account: Account;
  readonly model: Model;
}

/** The inputs of `chooseModel`. */
export interface ModelChoiceInput {
  /** The user's reference: `account/id`, an id, or only an account's name. */
  readonly reference?: string | undefined;
  readonly env: Environment;
  readonly configured: readonly ConfiguredAccount[];
  readonly models: readonly Model[];
  /** The models of a running Ollama, latest first; undefined if it was not queried or did not respond. */
  readonly ollamaModels: readonly string[] | undefined;
  /** How errors name the configuration file. */
  readonly configFile?: string;
}

/**
 * Chooses the referenced model, or else the default model of the first usable account. Returns undefined if there is no
 * reference and no usable account; throws an error with the next step if the referenced model is unavailable. Querying
 * Ollama takes time, so a caller may omit `ollamaModels` at first and query it only if the result is undefined.
 */
export function chooseModel(input: ModelChoiceInput): ChosenModel | undefined {
  const { reference, env, configured, configFile = 'config.yaml' } = input;
  const candidates = accountCandidates(env, configured, configFile);
  const local = ollamaEntries(input.ollamaModels ?? []);
  const models = mergeModels(input.models, local);
  const available = { candidates, models: mergeModels(vendorModelsFor(models, candidates), models), local };
  return reference === undefined ? defaultChoice(available) : referencedChoice(reference.trim(), available);
}

interface Available {
  readonly candidates: readonly AccountCandidate[];
  readonly models: readonly Model[];
  /** The models of the running Ollama. */
  readonly local: readonly ModelEntry[];
}

function defaultChoice(available: Available): ChosenModel | undefined {
  for (const candidate of available.candidates) {
    const model = defaultModel(candidate, available);
    // Ollama is the only local server that is queried: if it has a model, it is running.
    if (model === undefined || !(candidate.isDefaultEligible || candidate.name === OLLAMA)) continue;
    const opened = candidate.open();
    if ('account' in opened) return chosen(opened.account, model);
  }
  return undefined;
}

function referencedChoice(reference: string, available: Available): ChosenModel {
  const { candidates, models } = available;
  // A model may have the name of a vendor (Ollama has a "mistral"); the model takes precedence.
  const isModel = models.some(({ id }) => id === reference);
  const account = isModel ? undefined : findCandidate(candidates, reference);
  if (account === undefined) {
    const names = candidates.map(({ name }) => name);
    const model = resolveModel(models, reference, names);
    return chosen(openAccount(candidates, model.account), model);
  }
  const model = defaultModel(account, available);
  if (model !== undefined) return chosen(openAccount(candidates, account.name), model);
  const message = `${account.name} has no default model: write ${account.name}/ and the model's id`;
  throw new PolypodError('bad-request', message);
}

function chosen(account: Account, model: Model): ChosenModel {
  return { account: settingsFor(account, model.id), model };
}

function defaultModel({ name, vendor }: AccountCandidate, { models, local }: Available): Model | undefined {
  const own = models.filter((model) => model.account === name);
  const id = name === OLLAMA ? local[0]?.id : (vendor?.defaultModel ?? own[0]?.id);
  return id === undefined
    ? undefined
    : (own.find((model) => model.id === id) ?? unlistedModel(models, name, id));
}

/** Strips `:latest`, and leaves out embedding models, which cannot chat. */
function ollamaEntries(names: readonly string[]): ModelEntry[] {
  return names
    .filter((name) => !/embed|minilm|\bbge\b/i.test(name))
    .map((name) => ({ account: OLLAMA, id: name.replace(/:latest$/, '') }));
}

/** Copies a vendor's models to accounts of that vendor that have another name. */
function vendorModelsFor(models: readonly Model[], candidates: readonly AccountCandidate[]): Model[] {
  return candidates
    .filter(({ name, vendor }) => vendor !== undefined && vendor.name !== name)
    .flatMap(({ name, vendor }) =>
      models.filter((model) => model.account === vendor?.name).map((model) => ({ ...model, account: name })),
    );
}

const OLLAMA = 'ollama';
