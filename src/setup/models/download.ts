import { messageOf, PolypodError, systemCodeOf, withTrustHint } from '../../base/index.ts';
import type { HttpResponse, Transport } from '../../wire/index.ts';

export interface DownloadOptions {
  readonly transport: Transport;
  readonly signal: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Downloads a text with GET; throws a clear error if that fails. */
export async function download(url: string, options: DownloadOptions): Promise<string> {
  const response = await get(url, options);
  if (response.status !== 200)
    throw new PolypodError('provider-failed', `${url} answered HTTP ${response.status}`);
  const pieces: Uint8Array[] = [];
  for await (const piece of response.body) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

async function get(url: string, { transport, signal, headers = {} }: DownloadOptions): Promise<HttpResponse> {
  if (!URL.canParse(url)) throw new PolypodError('bad-request', `"${url}" is not an address`);
  try {
    return await transport({ method: 'GET', url, headers }, { signal, onOpen: () => {} });
  } catch (thrown) {
    const reason = withTrustHint(messageOf(thrown), systemCodeOf(thrown));
    const message = `cannot read ${url}: ${reason}; check the connection`;
    throw new PolypodError('unreachable', message, { cause: thrown });
  }
}
