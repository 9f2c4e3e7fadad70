import type { IncomingMessage } from 'node:http';

/**
 * The address of the client. Behind a proxy, every connection comes from the proxy: the last forwarded address is used, which no client can
 * forge. Otherwise one client could exhaust the rate limit of all clients.
 */
export function clientAddress({ headers, socket }: IncomingMessage, behindProxy: boolean): string {
  const own = socket.remoteAddress ?? '';
  if (!behindProxy) return own;
  const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',').at(-1)?.trim();
  return forwarded === undefined || forwarded === '' ? own : forwarded.slice(0, MOST_CHARACTERS);
}

/** The length of an IPv6 address with its zone. A longer text is not an address. */
const MOST_CHARACTERS = 64;
