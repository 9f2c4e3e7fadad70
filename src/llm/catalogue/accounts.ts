import { PolypodError } from '../../base/index.ts';
import type { Account } from '../account.ts';
import { checkedKey, type Environment, vendorBaseUrl, vendorKey } from './environment.ts';
import { VENDORS, type Vendor, vendorNamed, type Wire } from './vendors.ts';

/** An account as the user's configuration states it. What it leaves out comes from its vendor. */
export interface ConfiguredAccount {
  readonly name: string;
  /** Whose it is, when the name does not say it. */
  readonly vendor?: string;
  readonly wire?: Wire;
  readonly baseUrl?: string;
  readonly key?: KeySource;
  readonly headers?: Readonly<Record<string, string>>;
  readonly omit?: readonly string[];
}

/** Where the configuration has the key from: a variable, a text (`place` names it in errors), or nowhere, and why. */
export type KeySource =
  | { readonly env: string }
  | { readonly text: string; readonly place: string }
  | { readonly unavailable: string };

/** Every account that can be used right now, the preferred ones first: those configured, then vendors with a key. */
export function accountsFrom(env: Environment, configured: readonly ConfiguredAccount[]): Account[] {
  return candidatesFrom(env, configured, CONFIG_FILE)
    .filter((candidate) => candidate.servesUnasked)
    .map((candidate) => candidate.open())
    .flatMap((opened) => ('account' in opened ? [opened.account] : []));
}

/** The account of the user's Ollama: where to ask which models it has. */
export function ollamaAccount(env: Environment, configured: readonly ConfiguredAccount[]): Account {
  return openNamed(candidatesFrom(env, configured, CONFIG_FILE), 'ollama');
}

/** An account that could be opened. It is not until it is wanted, so that nobody stumbles over another's settings. */
export interface Candidate {
  readonly name: string;
  readonly vendor: Vendor | undefined;
  readonly wire: Wire | undefined;
  /** Whether it may be used without being asked for: not so a local server that nobody set up for us. */
  readonly servesUnasked: boolean;
  readonly open: () => Opened;
}
/** The account, or a sentence on what it lacks and the next step. */
export type Opened = { readonly account: Account } | { readonly lacks: string };

/** All accounts there could be, in order of preference. */
export function candidatesFrom(
  env: Environment,
  configured: readonly ConfiguredAccount[],
  configFile: string,
): Candidate[] {
  const others = VENDORS.filter((vendor) => !configured.some(({ name }) => name === vendor.name));
  return [
    ...configured.map((entry) => {
      const vendor = vendorNamed(entry.vendor ?? entry.name);
      const wire = entry.wire ?? vendor?.wire;
      const open = () => openConfigured(entry, vendor, env, `accounts.${entry.name} in ${configFile}`);
      return { name: entry.name, vendor, wire, servesUnasked: true, open };
    }),
    ...others.map((vendor) => {
      const open = () => openVendor(vendor, env, configFile);
      return { name: vendor.name, vendor, wire: vendor.wire, servesUnasked: vendor.keyless !== true, open };
    }),
  ];
}

/** The candidate of that name; else the one of the vendor that is also called so. */
export function candidateNamed(candidates: readonly Candidate[], name: string): Candidate | undefined {
  const called = (wanted: string | undefined) => candidates.find((candidate) => candidate.name === wanted);
  return called(name) ?? called(vendorNamed(name)?.name);
}

/** Opens the account of that name, or throws what it lacks. */
export function openNamed(candidates: readonly Candidate[], name: string): Account {
  const opened = candidateNamed(candidates, name)?.open() ?? {
    lacks: `there are models for "${name}" but no such account: add it under accounts in the configuration`,
  };
  if ('account' in opened) return opened.account;
  throw new PolypodError('bad-request', opened.lacks);
}

function openVendor(vendor: Vendor, env: Environment, configFile: string): Opened {
  const { name, wire, keyless, keyEnv, omit } = vendor;
  const apiKey = vendorKey(vendor, env);
  if (apiKey === undefined && keyless !== true)
    return {
      lacks: `no key for ${name}: set ${keyEnv.join(' or ')}, or add it under accounts in ${configFile}`,
    };
  return {
    account: {
      name,
      wire,
      baseUrl: vendorBaseUrl(vendor, env),
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(omit === undefined ? {} : { omit }),
    },
  };
}

function openConfigured(
  entry: ConfiguredAccount,
  vendor: Vendor | undefined,
  env: Environment,
  place: string,
): Opened {
  const { name, headers } = entry;
  const omit = entry.omit ?? vendor?.omit;
  // Only under the vendor's own name do its variables count: a key goes nowhere but where the user sent it.
  const own = vendorNamed(name) === vendor ? vendor : undefined;
  const wire = entry.wire ?? vendor?.wire;
  const baseUrl = entry.baseUrl ?? (own === undefined ? vendor?.baseUrl : vendorBaseUrl(own, env));
  if (wire === undefined || baseUrl === undefined)
    return { lacks: `${place} is incomplete: give its vendor, or both wire and base_url` };
  const key = keyFor(entry, own, env, place);
  const optional = entry.key === undefined && (entry.baseUrl !== undefined || vendor?.keyless === true);
  if (key.text === undefined && !optional) return { lacks: `no key for ${name}: ${key.hint}` };
  return {
    account: {
      name,
      wire,
      baseUrl,
      ...(key.text === undefined ? {} : { apiKey: key.text }),
      ...(headers === undefined ? {} : { headers }),
      ...(omit === undefined ? {} : { omit }),
    },
  };
}

/** The key, or what to do about it. */
function keyFor(
  { key }: ConfiguredAccount,
  own: Vendor | undefined,
  env: Environment,
  place: string,
): { readonly text: string | undefined; readonly hint: string } {
  if (key === undefined && own !== undefined)
    return { text: vendorKey(own, env), hint: `set ${own.keyEnv.join(' or ')}, or add key_env to ${place}` };
  if (key === undefined) return { text: undefined, hint: `add key_env, key_file or key to ${place}` };
  if ('env' in key)
    return { text: checkedKey(env[key.env], key.env), hint: `set ${key.env}, which ${place} names` };
  if ('text' in key) return { text: checkedKey(key.text, key.place), hint: `${key.place} is empty` };
  return { text: undefined, hint: key.unavailable };
}

const CONFIG_FILE = 'config.yaml';
