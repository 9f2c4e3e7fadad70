import { messageOf, PolypodError } from '../../base/index.ts';
import { type HttpResponse, httpTransport } from '../../wire/index.ts';

/** Downloads a text with GET; throws a clear error if that fails. */
export async function download(
  url: string,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): Promise<string> {
  const response = await get(url, signal, headers);
  if (response.status !== 200)
    throw new PolypodError('provider-failed', `${url} answered HTTP ${response.status}`);
  const pieces: Uint8Array[] = [];
  for await (const piece of response.body) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

async function get(
  url: string,
  signal: AbortSignal,
  headers: Readonly<Record<string, string>>,
): Promise<HttpResponse> {
  if (!URL.canParse(url)) throw new PolypodError('bad-request', `"${url}" is not an address`);
  try {
    return await httpTransport({ method: 'GET', url, headers }, { signal, onOpen: () => {} });
  } catch (thrown) {
    const message = `cannot read ${url}: ${messageOf(thrown)}; check the connection`;
    throw new PolypodError('unreachable', message, { cause: thrown });
  }
}
