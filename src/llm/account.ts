/** The address and credentials of a provider. A vendor with a supported provider API needs an account, but no code. */
export interface Account {
  /** `anthropic`, `groq`, or a name from the user's configuration. The part before the slash in `groq/llama-3.3-70b`. */
  readonly name: string;
  /** The provider API it speaks: the name of a provider in the registry. */
  readonly api: string;
  /** The URL before the part that the provider API appends, for example `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Fields of the request body that this server rejects, although others with the same API require them. */
  readonly omit?: readonly string[];
}

/** The authorization header that most servers expect. */
export function bearer({ apiKey }: Account): Record<string, string> {
  return apiKey ? { authorization: `Bearer ${apiKey}` } : {};
}
