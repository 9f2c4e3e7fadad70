import { PolypodError } from '../../base/index.ts';
import type { Account } from '../account.ts';
import {
  type Candidate,
  candidateNamed,
  candidatesFrom,
  type ConfiguredAccount,
  openNamed,
} from './accounts.ts';
import { type Model, type ModelEntry, mergeModels, minimalModel, resolveModel } from './catalogue.ts';
import type { Environment } from './environment.ts';

/** A model, and the account through which it is reached. */
export interface Choice {
  readonly account: Account;
  readonly model: Model;
}

/** All that the choice of a model depends on. */
export interface Circumstances {
  /** What the user asked for: `account/id`, an id, or an account's name alone. */
  readonly reference?: string | undefined;
  readonly env: Environment;
  readonly configured: readonly ConfiguredAccount[];
  readonly models: readonly Model[];
  /** What a running Ollama has, latest first; undefined when nobody asked it, or it did not answer. */
  readonly ollamaModels: readonly string[] | undefined;
  /** How errors name the configuration file. */
  readonly configFile?: string;
}

/**
 * The model to use: the one referred to, else the default model of the first account that can be used. Undefined when
 * nothing was asked for and nothing can be used. Throws one sentence with the next step when what was asked for cannot
 * be had. Asking Ollama takes time, so a caller may leave `ollamaModels` out first and ask only when the answer is
 * undefined.
 */
export function chooseModel(circumstances: Circumstances): Choice | undefined {
  const { reference, env, configured, configFile = 'config.yaml' } = circumstances;
  const candidates = candidatesFrom(env, configured, configFile);
  const local = ollamaEntries(circumstances.ollamaModels ?? []);
  const models = mergeModels(circumstances.models, local);
  const offer = { candidates, models: mergeModels(lent(models, candidates), models), local };
  return reference === undefined ? bestChoice(offer) : choiceOf(reference.trim(), offer);
}

interface Offer {
  readonly candidates: readonly Candidate[];
  readonly models: readonly Model[];
  /** The models of the Ollama that is running. */
  readonly local: readonly ModelEntry[];
}

function bestChoice(offer: Offer): Choice | undefined {
  for (const candidate of offer.candidates) {
    const model = defaultModel(candidate, offer);
    // Of the servers of one's own only Ollama was asked: when it has a model, it is running.
    if (model === undefined || !(candidate.servesUnasked || candidate.name === OLLAMA)) continue;
    const opened = candidate.open();
    if ('account' in opened) return { account: opened.account, model };
  }
  return undefined;
}

function choiceOf(reference: string, offer: Offer): Choice {
  const { candidates, models } = offer;
  // A model may be called like a vendor (Ollama has a "mistral"): then the model is meant.
  const isModel = models.some(({ id }) => id === reference);
  const account = isModel ? undefined : candidateNamed(candidates, reference);
  if (account === undefined) {
    const names = candidates.map(({ name }) => name);
    const model = resolveModel(models, reference, names);
    return { account: openNamed(candidates, model.account), model };
  }
  const model = defaultModel(account, offer);
  if (model !== undefined) return { account: openNamed(candidates, account.name), model };
  const message = `${account.name} has no default model: write ${account.name}/ and the model's id`;
  throw new PolypodError('bad-request', message);
}

function defaultModel({ name, vendor }: Candidate, { models, local }: Offer): Model | undefined {
  const own = models.filter((model) => model.account === name);
  const id = name === OLLAMA ? local[0]?.id : (vendor?.defaultModel ?? own[0]?.id);
  return id === undefined ? undefined : (own.find((model) => model.id === id) ?? minimalModel(name, id));
}

/** `llama3.2:latest` is what Ollama calls `llama3.2`; models that only embed cannot answer. */
function ollamaEntries(names: readonly string[]): ModelEntry[] {
  return names
    .filter((name) => !/embed|minilm|\bbge\b/i.test(name))
    .map((name) => ({ account: OLLAMA, id: name.replace(/:latest$/, '') }));
}

/** An account that has a vendor and a name of its own serves what the vendor does. */
function lent(models: readonly Model[], candidates: readonly Candidate[]): Model[] {
  return candidates
    .filter(({ name, vendor }) => vendor !== undefined && vendor.name !== name)
    .flatMap(({ name, vendor }) =>
      models.filter((model) => model.account === vendor?.name).map((model) => ({ ...model, account: name })),
    );
}

const OLLAMA = 'ollama';
