/** The address and credentials of a provider. A vendor with a supported provider API needs an account, but no code. */
export interface Account {
  /** `anthropic`, `groq`, or a name from the user's configuration. The part before the slash in `groq/llama-3.3-70b`. */
  readonly name: string;
  /** The provider API it speaks: the name of a provider in the registry. */
  readonly api: string;
  /** The URL before the part that the provider API appends, for example `https://api.openai.com/v1`. `{model}` is replaced with the id of the model. */
  readonly baseUrl: string;
  readonly apiKey?: string;
  /** Supplies a key that expires; used instead of `apiKey`. */
  readonly keySupply?: KeySupply;
  /** The header for `apiKey`, if it is not the one of the API. Tokens use the one of the API. */
  readonly keyHeader?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Parameters that are added to every URL. */
  readonly query?: Readonly<Record<string, string>>;
  /** Fields of the request body that this server rejects, although others with the same API require them. */
  readonly omit?: readonly string[];
}

/** A source of keys that expire. Rejects with a PolypodError if there is none; its message contains no key. */
export interface KeySupply {
  /** Whether the keys are tokens, which servers expect in the header of the API even if they have another one for keys. */
  readonly isToken: boolean;
  /** The current key; obtains one if there is none or it has expired. */
  key(signal: AbortSignal): Promise<string>;
  /** A new key, after the provider has rejected this one. */
  renew(rejected: string, signal: AbortSignal): Promise<string>;
}

/** The account with its current key as `apiKey`. */
export async function withCurrentKey(account: Account, signal: AbortSignal): Promise<Account> {
  return account.keySupply === undefined
    ? account
    : { ...account, apiKey: await account.keySupply.key(signal) };
}

/** The authorization header that most servers expect. */
export function bearer({ apiKey, keyHeader, keySupply }: Account): Record<string, string> {
  if (!apiKey) return {};
  return keyHeader === undefined || keySupply?.isToken === true
    ? { authorization: `Bearer ${apiKey}` }
    : { [keyHeader]: apiKey };
}

/** The account for requests to one model: replaces `{model}` in the base URL. */
export function forModel(account: Account, model: string): Account {
  return { ...account, baseUrl: account.baseUrl.replaceAll('{model}', encodeURIComponent(model)) };
}

/** Adds the account's parameters to a URL. */
export function withQuery(url: string, { query }: Account): string {
  if (query === undefined) return url;
  const target = new URL(url);
  for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value);
  return target.href;
}
