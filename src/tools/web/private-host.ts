import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { settlesWithin } from '../../base/index.ts';
import { isPrivateAddress } from './private-address.ts';

/** The error for a host on this machine or in a private network. */
export function privateHostError(name: string, address: string): Error {
  const has = name === address ? 'is' : `has the address ${address},`;
  return new Error(`${name} ${has} in a private network or on this machine; ${NEXT}`);
}

const NEXT = 'the user can allow it with permissions.private_hosts in config.yaml';

/** Throws if a host is a private address. */
export function refusePrivateAddress(host: string): void {
  if (isIP(host) !== 0 && isPrivateAddress(host)) throw privateHostError(host, host);
}

/** Names that only private networks have: reserved ones (RFC 6761, 6762, 8375 and .internal), and names without a dot. */
const PRIVATE_NAME = /^[^.]+$|\.(?:localhost|local|internal|home\.arpa)$/;

type LookUp = (
  host: string,
  options: { readonly all: true },
) => Promise<readonly { readonly address: string }[]>;

/** How long to wait for an address: behind a proxy, many machines cannot resolve names of other networks. */
const LOOKUP_MS = 2000;

/**
 * Throws if a host that a proxy would connect to is private as far as this machine knows. The proxy resolves the name again,
 * so this cannot recognise names that only the proxy resolves to private addresses.
 */
export async function refusePrivateTarget(host: string, lookUp: LookUp = lookup): Promise<void> {
  refusePrivateAddress(host);
  if (isIP(host) !== 0) return;
  if (PRIVATE_NAME.test(host)) throw new Error(`${host} is a name of private networks; ${NEXT}`);
  let addresses: readonly { readonly address: string }[] = [];
  const looking = lookUp(host, { all: true }).then(
    (found) => (addresses = found),
    // The proxy may know names that this machine does not know.
    () => [],
  );
  await settlesWithin(looking, LOOKUP_MS);
  const found = addresses.find(({ address }) => isPrivateAddress(address));
  if (found !== undefined) throw privateHostError(host, found.address);
}
