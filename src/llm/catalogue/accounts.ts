import { messageOf, unusableAccount, withoutUndefined } from '../../base/index.ts';
import type { Account, KeySupply } from '../account.ts';
import { type AwsAccountSettings, awsAccess } from './aws-access.ts';
import { type GoogleCloudProject, googleSupply, hasGoogleCloud, vertexAddress } from './google-cloud.ts';
import { validateKey, type Environment, vendorBaseUrl, vendorKey } from './environment.ts';
import { VENDORS, type Vendor, findVendor, type ProviderApi } from './vendors.ts';

/** An account from the user's configuration. Missing fields are taken from its vendor. */
export interface ConfiguredAccount extends GoogleCloudProject {
  readonly name: string;
  /** The vendor, if it differs from the account's name. */
  readonly vendor?: string;
  readonly api?: ProviderApi;
  readonly baseUrl?: string;
  readonly key?: KeySource;
  readonly headers?: Readonly<Record<string, string | ValueSource>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly omit?: readonly string[];
  readonly aws?: AwsAccountSettings;
}

/** The source of a value: an environment variable, a text (`source` names its origin in errors), or the reason why it is unavailable. */
export type ValueSource =
  | { readonly env: string }
  | { readonly text: string; readonly source: string }
  | { readonly unavailable: string };

/** The source of a key: that of a value, or a command that prints it. */
export type KeySource = ValueSource | { readonly command: KeyCommand };

/** A command that prints keys. The environment is the user's; the methods are those of a KeySupply. */
export interface KeyCommand {
  /** The program and its arguments. */
  readonly words: readonly string[];
  readonly expiresAfterMs?: number;
  /** Whether the keys are tokens, for vendors that have another header for keys. */
  readonly isToken: boolean;
  key(env: Environment, signal: AbortSignal): Promise<string>;
  renew(rejected: string, env: Environment, signal: AbortSignal): Promise<string>;
}

/** All usable accounts in order of preference: configured accounts, then vendors with a key. */
export function usableAccounts(env: Environment, configured: readonly ConfiguredAccount[]): Account[] {
  return accountCandidates(env, configured, CONFIG_FILE)
    .filter((candidate) => candidate.isDefaultEligible)
    .map((candidate) => candidate.open())
    .flatMap((opened) => ('account' in opened ? [opened.account] : []));
}

/** Why the models of an account cannot be used, such as a missing key; undefined if they can. */
export function accountProblem(
  env: Environment,
  configured: readonly ConfiguredAccount[],
  name: string,
): string | undefined {
  const candidate = findCandidate(accountCandidates(env, configured, CONFIG_FILE), name);
  if (candidate === undefined) return `no account ${name}`;
  const opened = openSafely(candidate.open);
  return 'problem' in opened ? opened.problem : undefined;
}

/** An account as it is listed, without its key. */
export interface ListedAccount {
  readonly name: string;
  readonly api: string | undefined;
  readonly baseUrl?: string;
  /** Why it cannot be used, with the next step. */
  readonly problem?: string;
}

/** The configured accounts, also those that cannot be used, and the vendors with a key in the environment. */
export function listedAccounts(
  env: Environment,
  configured: readonly ConfiguredAccount[],
  configFile: string,
): ListedAccount[] {
  return accountCandidates(env, configured, configFile).flatMap((candidate): ListedAccount[] => {
    const { name, api, isDefaultEligible, open } = candidate;
    const opened = openSafely(open);
    if ('account' in opened) return isDefaultEligible ? [{ name, api, baseUrl: opened.account.baseUrl }] : [];
    const isConfigured = configured.some((account) => account.name === name);
    return isConfigured ? [{ name, api, problem: opened.problem }] : [];
  });
}

function openSafely(open: () => AccountResult): AccountResult {
  try {
    return open();
  } catch (thrown) {
    return { problem: messageOf(thrown) };
  }
}

/** The account of the user's Ollama server, used to list its models. */
export function ollamaAccount(env: Environment, configured: readonly ConfiguredAccount[]): Account {
  return openAccount(accountCandidates(env, configured, CONFIG_FILE), 'ollama');
}

/** An account that can be opened on demand, so that invalid settings matter only for the account in use. */
export interface AccountCandidate {
  readonly name: string;
  readonly vendor: Vendor | undefined;
  readonly api: ProviderApi | undefined;
  /** Whether it may be chosen by default. False for local servers that the user has not configured. */
  readonly isDefaultEligible: boolean;
  readonly open: () => AccountResult;
}
/** The account, or an error message with the next step. */
export type AccountResult = { readonly account: Account } | { readonly problem: string };

/** All possible accounts in order of preference. */
export function accountCandidates(
  env: Environment,
  configured: readonly ConfiguredAccount[],
  configFile: string,
): AccountCandidate[] {
  const others = VENDORS.filter((vendor) => !configured.some(({ name }) => name === vendor.name));
  return [
    ...configured.map((entry) => {
      const vendor = findVendor(entry.vendor ?? entry.name);
      const api = entry.api ?? vendor?.api;
      const open = () => openConfigured(entry, vendor, env, `accounts.${entry.name} in ${configFile}`);
      return { name: entry.name, vendor, api, isDefaultEligible: true, open };
    }),
    ...others.map((vendor) => {
      const open = () => openVendor(vendor, env, configFile);
      const { name, api } = vendor;
      return { name, vendor, api, isDefaultEligible: isDefaultEligible(vendor, env), open };
    }),
  ];
}

/** Credentials of Google Cloud and AWS may be there for other programs, so a project or a key must be named as well. */
function isDefaultEligible(vendor: Vendor, env: Environment): boolean {
  if (vendor.googleCloud === true) return hasGoogleCloud(env);
  if (vendor.isAws === true) return vendorKey(vendor, env) !== undefined;
  return vendor.keyless !== true;
}

/** Finds a candidate by name, or by an alias of its vendor. */
export function findCandidate(
  candidates: readonly AccountCandidate[],
  name: string,
): AccountCandidate | undefined {
  const byName = (wanted: string | undefined) => candidates.find((candidate) => candidate.name === wanted);
  return byName(name) ?? byName(findVendor(name)?.name);
}

/** Opens the account of that name, or throws the reason why it cannot be used. */
export function openAccount(candidates: readonly AccountCandidate[], name: string): Account {
  const opened = findCandidate(candidates, name)?.open() ?? {
    problem: `there are models for "${name}" but no such account: add it under accounts in the configuration`,
  };
  if ('account' in opened) return opened.account;
  throw unusableAccount(opened.problem);
}

function openVendor(vendor: Vendor, env: Environment, configFile: string): AccountResult {
  const { name, api, keyless, keyEnv, keyHeader, omit } = vendor;
  if (vendor.googleCloud === true)
    return openConfigured({ name }, vendor, env, `accounts.${name} in ${configFile}`);
  const missing = missingAddress(vendor, env, `accounts.${name} in ${configFile}`);
  const apiKey = vendorKey(vendor, env);
  if (vendor.isAws === true) {
    const account = { name, api, baseUrl: vendorBaseUrl(vendor, env), ...withoutUndefined({ apiKey }) };
    return awsAccess(account, {}, env, `accounts.${name} in ${configFile}`);
  }
  if (apiKey === undefined && keyless !== true)
    return {
      problem: `no key for ${name}: set ${keyEnv.join(' or ')}, or add it under accounts in ${configFile}`,
    };
  if (missing !== undefined) return { problem: missing };
  return {
    account: {
      name,
      api,
      baseUrl: vendorBaseUrl(vendor, env),
      ...withoutUndefined({ apiKey, keyHeader, omit }),
    },
  };
}

/** The problem of a vendor that has another address for every customer, if the user has not given it. */
function missingAddress(vendor: Vendor, env: Environment, source: string): string | undefined {
  const { name, hasOwnAddress, baseUrl, baseUrlEnv = '' } = vendor;
  if (hasOwnAddress !== true || (env[baseUrlEnv] ?? '').trim() !== '') return undefined;
  const { origin } = new URL(baseUrl);
  return `no address for ${name}: set ${baseUrlEnv} to ${origin.replace('resource', 'RESOURCE')}, or add base_url: ${baseUrl} to ${source}`;
}

function openConfigured(
  entry: ConfiguredAccount,
  vendor: Vendor | undefined,
  env: Environment,
  source: string,
): AccountResult {
  const { name, query } = entry;
  const omit = entry.omit ?? vendor?.omit;
  // The vendor's variables apply only to an account with the vendor's own name, so that a key is never sent to another address.
  const ownVendor = findVendor(name) === vendor ? vendor : undefined;
  const api = entry.api ?? vendor?.api;
  const cloud = vendor?.googleCloud === true ? vertexAddress(entry, env, source) : undefined;
  if (entry.baseUrl === undefined && cloud !== undefined && 'problem' in cloud) return cloud;
  const vendorUrl = cloud !== undefined && 'baseUrl' in cloud ? cloud.baseUrl : vendor?.baseUrl;
  const baseUrl = entry.baseUrl ?? (ownVendor?.baseUrlEnv ? vendorBaseUrl(ownVendor, env) : vendorUrl);
  if (api === undefined || baseUrl === undefined)
    return { problem: `${source} is incomplete: give its vendor, or both wire and base_url` };
  if (entry.baseUrl === undefined && vendor !== undefined) {
    const missing = missingAddress(vendor, ownVendor === undefined ? {} : env, source);
    if (missing !== undefined) return { problem: missing };
  }
  const headers = headersFor(entry, env, source);
  if ('problem' in headers) return headers;
  const keySupply =
    vendor?.googleCloud === true
      ? googleCloudSupply(entry, ownVendor !== undefined, env)
      : supplyOf(entry.key, env);
  // Credentials that the account names take precedence over a key in the environment.
  const { profile, roleArn } = entry.aws ?? {};
  const keyVendor = profile === undefined && roleArn === undefined ? ownVendor : undefined;
  const key = keySupply === undefined ? keyFor(entry, keyVendor, env, source) : NO_KEY;
  const optional =
    entry.key === undefined && (entry.baseUrl !== undefined || vendor?.keyless === true || api === 'bedrock');
  if (key.text === undefined && keySupply === undefined && !optional)
    return { problem: `no key for ${name}: ${key.hint}` };
  const account = {
    name,
    api,
    baseUrl,
    ...withoutUndefined({
      apiKey: key.text,
      keySupply,
      keyHeader: vendor?.keyHeader,
      byModel: vendor?.byModel,
      headers: headers.values,
      query,
      omit,
    }),
  };
  return api === 'bedrock' ? awsAccess(account, entry.aws ?? {}, env, source) : { account };
}

/** The key, or a hint on how to set it. */
function keyFor(
  { key }: ConfiguredAccount,
  ownVendor: Vendor | undefined,
  env: Environment,
  source: string,
): { readonly text: string | undefined; readonly hint: string } {
  if (key === undefined && ownVendor !== undefined)
    return {
      text: vendorKey(ownVendor, env),
      hint: `set ${ownVendor.keyEnv.join(' or ')}, or add key_env to ${source}`,
    };
  if (key === undefined)
    return { text: undefined, hint: `add key_env, key_file, key_command or key to ${source}` };
  if ('command' in key) return NO_KEY;
  if ('env' in key)
    return { text: validateKey(env[key.env], key.env), hint: `set ${key.env}, which ${source} names` };
  if ('text' in key) return { text: validateKey(key.text, key.source), hint: `${key.source} is empty` };
  return { text: undefined, hint: key.unavailable };
}

function supplyOf(key: KeySource | undefined, env: Environment): KeySupply | undefined {
  if (key === undefined || !('command' in key)) return undefined;
  const { command } = key;
  return {
    isToken: command.isToken,
    key: (signal) => command.key(env, signal),
    renew: (rejected, signal) => command.renew(rejected, env, signal),
  };
}

/** The source of tokens of Google Cloud; undefined if the key itself is a token. */
function googleCloudSupply(
  { key, baseUrl }: ConfiguredAccount,
  hasVendorName: boolean,
  env: Environment,
): KeySupply | undefined {
  // As with variables: credentials of the environment are sent to another address only if the account has the vendor's name.
  if (key === undefined) return hasVendorName || baseUrl === undefined ? googleSupply(env) : undefined;
  const stated =
    'env' in key ? { text: env[key.env] ?? '', source: key.env } : 'text' in key ? key : undefined;
  return stated?.text.trimStart().startsWith('{') === true ? googleSupply(env, stated) : supplyOf(key, env);
}

const NO_KEY = { text: undefined, hint: '' };

/** The headers with the values of their variables and files. */
function headersFor(
  { name: account, headers }: ConfiguredAccount,
  env: Environment,
  source: string,
): { readonly values: Readonly<Record<string, string>> | undefined } | { readonly problem: string } {
  if (headers === undefined) return { values: undefined };
  const values: Record<string, string> = {};
  for (const [name, stated] of Object.entries(headers)) {
    const { value, hint } = headerValue(stated, env, `headers.${name} of ${source}`);
    if (value === undefined) return { problem: `no value for the header ${name} of ${account}: ${hint}` };
    values[name] = value;
  }
  return { values };
}

function headerValue(
  stated: string | ValueSource,
  env: Environment,
  source: string,
): { readonly value: string | undefined; readonly hint: string } {
  if (typeof stated === 'string') return { value: stated, hint: '' };
  if ('unavailable' in stated) return { value: undefined, hint: stated.unavailable };
  if ('env' in stated)
    return {
      value: validateKey(env[stated.env], stated.env, 'value'),
      hint: `set ${stated.env}, which ${source} names`,
    };
  return { value: validateKey(stated.text, stated.source, 'value'), hint: `${stated.source} is empty` };
}

const CONFIG_FILE = 'config.yaml';
