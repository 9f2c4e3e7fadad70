import { nearest, PolypodError } from '../../base/index.ts';
import { VENDORS, vendorNamed } from './vendors.ts';

/** What is known of a model. A field that nobody is sure of is absent: unknown is not 0. */
export interface Model {
  /** The account that serves it: a vendor's name, or one from the user's configuration. */
  readonly account: string;
  /** The name the provider wants in the request; may contain slashes. */
  readonly id: string;
  readonly name: string;
  /** In tokens, prompt and answer together where the vendor counts them together. */
  readonly contextWindow?: number;
  /** The longest answer to one request, in tokens. */
  readonly maxOutput?: number;
  readonly reasoning: boolean;
  readonly input: readonly InputKind[];
  readonly price?: Price;
}

export type InputKind = 'text' | 'image';

/** USD per million tokens. */
export interface Rates {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
}

/** The rates for ordinary prompts and, where the vendor asks more for long ones, those that replace them. */
export interface Price extends Rates {
  readonly tiers?: readonly Tier[];
}

/** A prompt of more than `above` tokens, cached ones included, is billed at these rates from its first token on. */
export interface Tier extends Rates {
  readonly above: number;
}

/** What a file says of a model: any of its fields. */
export type ModelEntry = Pick<Model, 'account' | 'id'> & Partial<Model>;

/**
 * The models with the entries laid over them: field by field for a model that is there, at the end for one that is not.
 * A price is one field, so that a new input price never stands beside an old cache price.
 */
export function mergeModels(models: readonly Model[], entries: readonly ModelEntry[]): Model[] {
  const merged = new Map(models.map((model) => [referenceTo(model), model]));
  for (const entry of entries) {
    const reference = referenceTo(entry);
    merged.set(reference, { ...(merged.get(reference) ?? minimalModel(entry.account, entry.id)), ...entry });
  }
  return [...merged.values()];
}

/** `account/id`: how people name a model. */
export function referenceTo(model: Pick<Model, 'account' | 'id'>): string {
  return `${model.account}/${model.id}`;
}

/**
 * The model that a reference means: `account/id`, or an id alone when just one account has it. Before the first slash an
 * account's name always wins, so that `anthropic/…` never ends up at a reseller who uses the same words in its ids. An id
 * that the table does not know is taken as it is: models are newer than tables.
 */
export function resolveModel(
  models: readonly Model[],
  reference: string,
  configured: readonly string[] = [],
): Model {
  const accounts = accountNames(models, configured);
  const slash = reference.indexOf('/');
  const name = slash < 0 ? undefined : reference.slice(0, slash);
  const id = reference.slice(slash + 1);
  if (name !== undefined && accounts.has(name)) return modelOf(models, name, id);
  const found = models.filter((model) => model.id === reference);
  if (found.length > 1)
    throw refusal(
      `"${reference}" is served by several accounts: write ${found.map(referenceTo).join(' or ')}`,
    );
  const [only] = found;
  if (only !== undefined) return only;
  if (name === undefined) throw unknownModel(models, reference);
  const vendor = vendorNamed(name);
  if (vendor !== undefined) return modelOf(models, vendor.name, id);
  throw unknownAccount(name, accounts);
}

function accountNames(models: readonly Model[], configured: readonly string[]): ReadonlySet<string> {
  const names = [...configured, ...VENDORS.map(({ name }) => name), ...models.map(({ account }) => account)];
  return new Set(names);
}

function modelOf(models: readonly Model[], account: string, id: string): Model {
  if (id === '') throw refusal(`"${account}/" names no model: write the model's id behind the slash`);
  return models.find((model) => model.account === account && model.id === id) ?? minimalModel(account, id);
}

function unknownModel(models: readonly Model[], id: string): PolypodError {
  const guess = nearest(id, new Set(models.map((model) => model.id)));
  const account = nearest(id, new Set(VENDORS.map(({ name }) => name)));
  const near = models.filter((model) => model.id === guess).map(referenceTo);
  if (near.length === 0 && account !== undefined) near.push(account);
  const hint = near.length === 0 ? 'write it as account/id' : `did you mean ${near.join(' or ')}?`;
  return refusal(`no model is called "${id}": ${hint}`);
}

function unknownAccount(name: string, accounts: ReadonlySet<string>): PolypodError {
  const guess = nearest(name, accounts);
  const hint = guess === undefined ? 'there' : `did you mean "${guess}"? There`;
  const known = `${hint} are ${[...accounts].join(', ')}`;
  return refusal(`no account is called "${name}": ${known}. Add it under accounts in the configuration`);
}

/** A model of which nothing is known but where it is: it promises neither reasoning nor images. */
export function minimalModel(account: string, id: string): Model {
  return { account, id, name: id, reasoning: false, input: ['text'] };
}

function refusal(message: string): PolypodError {
  return new PolypodError('bad-request', message);
}
