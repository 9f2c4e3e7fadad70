/** Where and as whom to reach a provider. A vendor that speaks a known wire is an account, not code. */
export interface Account {
  /** `anthropic`, `groq`, or a name from the user's configuration. The part before the slash in `groq/llama-3.3-70b`. */
  readonly name: string;
  /** The wire family it speaks: the name of a provider in the registry. */
  readonly wire: string;
  /** Up to and without the part that the wire family appends, for example `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  readonly apiKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Fields of the request body that this server refuses, although others of its wire family want them. */
  readonly omit?: readonly string[];
}

/** The key as most servers want it. */
export function bearer({ apiKey }: Account): Record<string, string> {
  return apiKey ? { authorization: `Bearer ${apiKey}` } : {};
}
