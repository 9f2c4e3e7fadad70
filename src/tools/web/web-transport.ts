/** Sends one request and streams the answer. Tools receive it, because they do not know proxies. */
export type WebTransport = (
  request: {
    readonly method: 'GET' | 'POST';
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
  },
  watch: { readonly signal: AbortSignal; readonly onOpen: () => void },
) => Promise<WebResponse>;

export interface WebResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** The first bytes of an answer, and whether there are more. */
export async function firstBytes(
  { body }: Pick<WebResponse, 'body'>,
  limit: number,
): Promise<{ readonly bytes: Buffer; readonly isCut: boolean }> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    pieces.push(piece);
    length += piece.length;
    if (length > limit) break;
  }
  return { bytes: Buffer.concat(pieces).subarray(0, limit), isCut: length > limit };
}
