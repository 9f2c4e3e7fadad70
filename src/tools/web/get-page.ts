import { lookup as lookUp } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import type { LookupFunction } from 'node:net';
import { pipeline, Readable, type Transform } from 'node:stream';
import { messageOf } from '../../base/index.ts';
import { isPrivateAddress } from './private-address.ts';
import { privateHostError, refusePrivateAddress, refusePrivateTarget } from './private-host.ts';
import { firstBytes, type WebResponse, type WebTransport } from './web-transport.ts';

export interface PageRequest {
  readonly url: URL;
  /** Whether a host may have a private address. */
  readonly mayBePrivate: (host: string) => boolean;
  /** The transport for an address that is reached through a proxy; undefined for a direct connection. */
  readonly proxied: (url: string) => WebTransport | undefined;
  readonly signal: AbortSignal;
}

/** A page, a redirect to another host, or why there is neither. */
export type PageResult =
  | {
      readonly status: number;
      readonly url: URL;
      readonly contentType: string;
      readonly bytes: Buffer;
      /** Whether the page is longer. */
      readonly isCut: boolean;
    }
  | { readonly redirectedTo: URL }
  | { readonly problem: string };

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_REDIRECTS = 5;

/** Gets a page. Redirects are followed only on the same host, because the approval was for this host. */
export async function getPage(request: PageRequest): Promise<PageResult> {
  const { url: first, signal } = request;
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  // Ends connections whose answers are not read to the end.
  const done = new AbortController();
  const both = AbortSignal.any([signal, timeout, done.signal]);
  let url = first;
  try {
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const response = await open(url, request, both);
      const { status, headers } = response;
      const target = status >= 300 && status < 400 ? headers.location : undefined;
      if (target === undefined) {
        const { bytes, isCut } = await firstBytes({ body: await unpacked(response) }, MAX_BYTES);
        return { status, url, contentType: headers['content-type'] ?? '', bytes, isCut };
      }
      if (!URL.canParse(target, url.href))
        return { problem: `it redirects to "${target}", which is not an address` };
      const next = new URL(target, url);
      const invalid = addressProblem(next);
      if (invalid !== undefined) return { problem: `it redirects to an address that ${invalid}` };
      if (hostOf(next) !== hostOf(first)) return { redirectedTo: next };
      url = next;
    }
    return { problem: `it redirects more than ${MAX_REDIRECTS} times` };
  } catch (thrown) {
    if (timeout.aborted) return { problem: `it did not answer within ${TIMEOUT_MS / 1000} seconds` };
    return { problem: signal.aborted ? 'it was cancelled' : messageOf(thrown) };
  } finally {
    done.abort();
  }
}

/** The name of a host in lower case, without a final dot and without the brackets of IPv6. */
export function hostOf({ hostname }: URL): string {
  return hostname
    .toLowerCase()
    .replace(/\.$/, '')
    .replace(/^\[|\]$/g, '');
}

/** Why an address cannot be fetched; undefined if it can. */
export function addressProblem({ protocol, username, password, hostname }: URL): string | undefined {
  if (protocol !== 'http:' && protocol !== 'https:') return 'is neither http nor https';
  if (username !== '' || password !== '') return 'contains a user name or password';
  return hostname === '' ? 'has no host' : undefined;
}

async function open(
  url: URL,
  { mayBePrivate, proxied }: PageRequest,
  signal: AbortSignal,
): Promise<WebResponse> {
  const host = hostOf(url);
  const isAllowed = mayBePrivate(host);
  const transport = proxied(url.href);
  if (transport === undefined) return openDirectly(url, isAllowed, signal);
  if (!isAllowed) await refusePrivateTarget(host);
  return transport({ method: 'GET', url: url.href, headers: HEADERS }, { signal, onOpen: () => {} });
}

async function openDirectly(url: URL, mayBePrivate: boolean, signal: AbortSignal): Promise<WebResponse> {
  // An address is not looked up.
  if (!mayBePrivate) refusePrivateAddress(hostOf(url));
  const { request } = await (url.protocol === 'https:' ? import('node:https') : import('node:http'));
  return new Promise((resolve, reject) => {
    request(url, {
      // A new connection for every request, so that every address is checked.
      agent: false,
      signal,
      lookup: checkedLookup(mayBePrivate),
      headers: HEADERS,
    })
      .on('response', (incoming: IncomingMessage) => {
        const { statusCode: status = 0, headers } = incoming;
        const { location, 'content-type': contentType, 'content-encoding': encoding } = headers;
        resolve({
          status,
          headers: { location, 'content-type': contentType, 'content-encoding': encoding },
          body: incoming,
        });
      })
      .on('error', reject)
      // After a response with status 101, Node.js emits neither of both.
      .on('close', () => reject(new Error('the server closed the connection without a page')))
      .end();
  });
}

const HEADERS = {
  accept: 'text/html,text/plain,application/json;q=0.9,*/*;q=0.5',
  'accept-encoding': 'identity',
  'user-agent': 'polypod',
};

/** Checks the addresses that the connection uses: a second lookup could return others. */
function checkedLookup(mayBePrivate: boolean): LookupFunction {
  return (name, options, callback) => {
    lookUp(name, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const bad = mayBePrivate ? undefined : addresses.find(({ address }) => isPrivateAddress(address));
      if (bad !== undefined) return callback(privateHostError(name, bad.address), []);
      const [first] = addresses;
      if (options.all === true || first === undefined) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

/** The decompressed body: some servers compress although the request does not offer it. */
async function unpacked({ headers, body }: WebResponse): Promise<WebResponse['body']> {
  const unpack = await decompressor(headers['content-encoding']);
  return unpack === undefined ? body : pipeline(Readable.from(body), unpack, () => {});
}

/** Undefined if the page is not compressed. */
async function decompressor(encoding = 'identity'): Promise<Transform | undefined> {
  if (/^identity$/i.test(encoding)) return undefined;
  const { createBrotliDecompress, createUnzip } = await import('node:zlib');
  if (/^(?:x-)?gzip$|^deflate$/i.test(encoding)) return createUnzip();
  if (/^br$/i.test(encoding)) return createBrotliDecompress();
  throw new Error(`it is compressed as ${encoding}, which Polypod cannot read`);
}
