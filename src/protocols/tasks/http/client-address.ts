import type { IncomingMessage } from 'node:http';

/**
 * Whose address a request comes from. Behind a proxy every connection is the proxy's: there the last address that it has put
 * down counts, which no client can write itself, or one of them could use up the patience that is meant for all.
 */
export function clientAddress({ headers, socket }: IncomingMessage, behindProxy: boolean): string {
  const own = socket.remoteAddress ?? '';
  if (!behindProxy) return own;
  const said = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',').at(-1)?.trim();
  return said === undefined || said === '' ? own : said.slice(0, MOST_CHARACTERS);
}

/** Of an IPv6 address with its zone; what is longer is none. */
const MOST_CHARACTERS = 64;
