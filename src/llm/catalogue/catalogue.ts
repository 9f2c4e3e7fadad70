import { nearestMatch, PolypodError } from '../../base/index.ts';
import { VENDORS, findVendor } from './vendors.ts';

/** A model's properties. Unknown fields are absent, never 0. */
export interface Model {
  /** The account that serves the model: a vendor's name, or one from the user's configuration. */
  readonly account: string;
  /** The name that requests use; may contain slashes. */
  readonly id: string;
  readonly name: string;
  /** In tokens; prompt and answer together if the vendor counts them together. */
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

/** The base rates, and the tiers that replace them for long prompts. */
export interface Price extends Rates {
  readonly tiers?: readonly Tier[];
}

/** A prompt of more than `above` tokens, including cached ones, is billed at these rates from its first token. */
export interface Tier extends Rates {
  readonly above: number;
}

/** An entry of a models file: a model with any subset of its fields. */
export type ModelEntry = Pick<Model, 'account' | 'id'> & Partial<Model>;

/**
 * Merges entries into the models: field by field for known models, appended for new ones. A price is replaced as a whole,
 * so that a new input price is never combined with an old cache price.
 */
export function mergeModels(models: readonly Model[], entries: readonly ModelEntry[]): Model[] {
  const merged = new Map(models.map((model) => [modelReference(model), model]));
  for (const entry of entries) {
    const reference = modelReference(entry);
    merged.set(reference, { ...(merged.get(reference) ?? minimalModel(entry.account, entry.id)), ...entry });
  }
  return [...merged.values()];
}

/** The model reference `account/id`. */
export function modelReference(model: Pick<Model, 'account' | 'id'>): string {
  return `${model.account}/${model.id}`;
}

/**
 * Resolves a reference: `account/id`, or only an id if exactly one account has it. An account name before the first slash
 * takes precedence, so that `anthropic/…` never selects a reseller that uses the same words in its ids. Unknown ids are
 * accepted, because new models appear before the table is updated.
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
    throw badRequest(
      `"${reference}" is served by several accounts: write ${found.map(modelReference).join(' or ')}`,
    );
  const [only] = found;
  if (only !== undefined) return only;
  if (name === undefined) throw unknownModel(models, reference);
  const vendor = findVendor(name);
  if (vendor !== undefined) return modelOf(models, vendor.name, id);
  throw unknownAccount(name, accounts);
}

function accountNames(models: readonly Model[], configured: readonly string[]): ReadonlySet<string> {
  const names = [...configured, ...VENDORS.map(({ name }) => name), ...models.map(({ account }) => account)];
  return new Set(names);
}

function modelOf(models: readonly Model[], account: string, id: string): Model {
  if (id === '') throw badRequest(`"${account}/" names no model: write the model's id after the slash`);
  return (
    models.find((model) => model.account === account && model.id === id) ?? unlistedModel(models, account, id)
  );
}

function unknownModel(models: readonly Model[], id: string): PolypodError {
  const guess = nearestMatch(id, new Set(models.map((model) => model.id)));
  const account = nearestMatch(id, new Set(VENDORS.map(({ name }) => name)));
  const suggestions = models.filter((model) => model.id === guess).map(modelReference);
  if (suggestions.length === 0 && account !== undefined) suggestions.push(account);
  const hint =
    suggestions.length === 0 ? 'write it as account/id' : `did you mean ${suggestions.join(' or ')}?`;
  return badRequest(`no model is called "${id}": ${hint}`);
}

function unknownAccount(name: string, accounts: ReadonlySet<string>): PolypodError {
  const guess = nearestMatch(name, accounts);
  const hint = guess === undefined ? 'there' : `did you mean "${guess}"? There`;
  const known = `${hint} are ${[...accounts].join(', ')}`;
  return badRequest(`no account is called "${name}": ${known}. Add it under accounts in the configuration`);
}

/**
 * A model that the list does not have for this account. If another account serves the same model, its limits and abilities are
 * those of that entry; the price may differ and stays unknown.
 */
export function unlistedModel(models: readonly Model[], account: string, id: string): Model {
  const canonical = canonicalId(id);
  const twin = models.find((model) => model.id === id) ?? models.find((model) => model.id === canonical);
  if (twin === undefined) return minimalModel(account, id);
  const { price: _, ...known } = twin;
  return { ...known, account, id };
}

/** Strips what resellers add to the id: `us.anthropic.claude-opus-5-5-v1:0`, `anthropic/claude-opus-5-5`, `claude-opus-5-5@20260901`. */
function canonicalId(id: string): string {
  return id
    .toLowerCase()
    .replace(/^.*\//, '')
    .replace(/^(?:[a-z-]+\.)?(?:anthropic|meta|mistral|deepseek|qwen|openai|amazon)\./, '')
    .replace(/-v\d+(?::\d+)?$/, '')
    .replace(/[@-](?:20\d{6}|latest|default)$/, '');
}

/** A model without known properties, assumed to support neither reasoning nor images. */
export function minimalModel(account: string, id: string): Model {
  return { account, id, name: id, reasoning: false, input: ['text'] };
}

function badRequest(message: string): PolypodError {
  return new PolypodError('bad-request', message);
}
