import type { JsonObject } from '../base/index.ts';
import type { HttpRequest, Transport } from '../wire/index.ts';

/** The address and credentials of a provider. A vendor with a supported provider API needs an account, but no code. */
export interface Account {
  /** `anthropic`, `groq`, or a name from the user's configuration. The part before the slash in `groq/llama-3.3-70b`. */
  readonly name: string;
  /** The provider API it speaks: the name of a provider in the registry. */
  readonly api: string;
  /** The URL before the part that the provider API appends, for example `https://api.openai.com/v1`. `{model}` is replaced with the id of the model, `{region}` with the region of the signer. */
  readonly baseUrl: string;
  readonly apiKey?: string;
  /** Supplies a key that expires; used instead of `apiKey`. */
  readonly keySupply?: KeySupply;
  /** Signs requests, for APIs that require a signature; used instead of a key. */
  readonly signer?: RequestSigner;
  /** The header for `apiKey`, if it is not the one of the API. Tokens use the one of the API. */
  readonly keyHeader?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Parameters that are added to every URL. */
  readonly query?: Readonly<Record<string, string>>;
  /** Fields of the request body that this server rejects, although others with the same API require them. */
  readonly omit?: readonly string[];
  /** The path after the base URL for requests, if it is not the one of the API. `{model}` is replaced with the id of the model. */
  readonly requestPath?: string;
  /** Fields that are added to every request body. */
  readonly bodyFields?: JsonObject;
  /** Settings that differ by model, for servers with several APIs; the first match applies. */
  readonly byModel?: readonly ModelSettings[];
}

/** The settings of an account for some of its models. */
export interface ModelSettings extends Pick<Account, 'api' | 'requestPath' | 'bodyFields' | 'omit'> {
  /** The beginning of the ids of these models. */
  readonly idPrefix: string;
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

/** Signs requests. Rejects with a PolypodError if there are no credentials; its message contains no secret. */
export interface RequestSigner {
  /** Obtains credentials, unless there are some that have not expired. A renewal replaces those that the provider has rejected. */
  open(
    options: { readonly transport: Transport; readonly isRenewal: boolean },
    signal: AbortSignal,
  ): Promise<OpenSigner>;
}

/** A signer with credentials. */
export interface OpenSigner {
  readonly region: string;
  /** What errors must not contain. */
  readonly secrets: readonly string[];
  sign(request: HttpRequest): Promise<HttpRequest>;
}

/** The account with its current key as `apiKey`. */
export async function withCurrentKey(account: Account, signal: AbortSignal): Promise<Account> {
  return account.keySupply === undefined
    ? account
    : { ...account, apiKey: await account.keySupply.key(signal) };
}

/** The authorization header that most servers expect. */
export function bearer(account: Account): Record<string, string> {
  return keyHeaders(account, 'authorization');
}

/** The header with the key. `ofApi` is the one of the API; accounts that have another one get tokens as `authorization`. */
export function keyHeaders({ apiKey, keyHeader, keySupply }: Account, ofApi: string): Record<string, string> {
  if (!apiKey) return {};
  const name = keyHeader === undefined ? ofApi : keySupply?.isToken === true ? 'authorization' : keyHeader;
  return { [name]: name === 'authorization' ? `Bearer ${apiKey}` : apiKey };
}

/** The account with the settings for one model. */
export function settingsFor(account: Account, model: string): Account {
  const { byModel = [], ...rest } = account;
  const { idPrefix: _, ...settings } = byModel.find(({ idPrefix }) => model.startsWith(idPrefix)) ?? {};
  return { ...rest, ...settings };
}

/** The account for requests to one model: replaces `{model}` in the base URL and the path. */
export function forModel(account: Account, model: string): Account {
  // Vertex AI writes versions as `@20260901`, which is valid in a path as it is.
  const encoded = encodeURIComponent(model).replaceAll('%40', '@');
  const { baseUrl, requestPath, ...rest } = account;
  return {
    ...rest,
    baseUrl: baseUrl.replaceAll('{model}', encoded),
    ...(requestPath !== undefined && { requestPath: requestPath.replaceAll('{model}', encoded) }),
  };
}

/** Adds the account's parameters to a URL. */
export function withQuery(url: string, { query }: Account): string {
  if (query === undefined) return url;
  const target = new URL(url);
  for (const [name, value] of Object.entries(query)) target.searchParams.set(name, value);
  return target.href;
}
