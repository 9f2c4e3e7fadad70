import { lookup as lookUp } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import { isIP, type LookupFunction } from 'node:net';
import { messageOf } from '../../base/index.ts';
import { isPrivateAddress } from './private-address.ts';

export interface PageRequest {
  readonly url: URL;
  /** Whether a host may have a private address. */
  readonly mayBePrivate: (host: string) => boolean;
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
export async function getPage({ url: first, mayBePrivate, signal }: PageRequest): Promise<PageResult> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const both = AbortSignal.any([signal, timeout]);
  let url = first;
  try {
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
      const response = await open(url, mayBePrivate(hostOf(url)), both);
      const { statusCode: status = 0, headers } = response;
      const target = status >= 300 && status < 400 ? headers.location : undefined;
      if (target === undefined) {
        const { bytes, isCut } = await firstBytes(response);
        return { status, url, contentType: headers['content-type'] ?? '', bytes, isCut };
      }
      response.destroy();
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

async function open(url: URL, mayBePrivate: boolean, signal: AbortSignal): Promise<IncomingMessage> {
  const host = hostOf(url);
  // An address is not looked up.
  if (isIP(host) !== 0 && !mayBePrivate && isPrivateAddress(host)) throw privateHost(host, host);
  const { request } = await (url.protocol === 'https:' ? import('node:https') : import('node:http'));
  return new Promise((resolve, reject) => {
    request(url, {
      // A new connection for every request, so that every address is checked.
      agent: false,
      signal,
      lookup: checkedLookup(mayBePrivate),
      headers: {
        accept: 'text/html,text/plain,application/json;q=0.9,*/*;q=0.5',
        'accept-encoding': 'identity',
        'user-agent': 'polypod',
      },
    })
      .on('response', resolve)
      .on('error', reject)
      .end();
  });
}

/** Checks the addresses that the connection uses: a second lookup could return others. */
function checkedLookup(mayBePrivate: boolean): LookupFunction {
  return (name, options, callback) => {
    lookUp(name, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const bad = mayBePrivate ? undefined : addresses.find(({ address }) => isPrivateAddress(address));
      if (bad !== undefined) return callback(privateHost(name, bad.address), []);
      const [first] = addresses;
      if (options.all === true || first === undefined) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

function privateHost(name: string, address: string): Error {
  const has = name === address ? 'is' : `has the address ${address},`;
  return new Error(
    `${name} ${has} in a private network or on this machine; the user can allow it with permissions.private_hosts in config.yaml`,
  );
}

async function firstBytes(
  response: IncomingMessage,
): Promise<{ readonly bytes: Buffer; readonly isCut: boolean }> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    pieces.push(piece);
    length += piece.length;
    if (length > MAX_BYTES) break;
  }
  response.destroy();
  return { bytes: Buffer.concat(pieces).subarray(0, MAX_BYTES), isCut: length > MAX_BYTES };
}
