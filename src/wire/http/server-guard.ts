import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { lastResult } from '../../base/index.ts';
import { httpRefusal } from './server-refusal.ts';

export interface GuardOptions {
  /** Host names of the server, in addition to `localhost` and IP addresses. */
  readonly hosts: readonly string[];
  /** Origins of pages that may use the server, such as `https://example.org`. */
  readonly origins: readonly string[];
}

/**
 * Rejects a request with a duplicate of a header that may occur once: Node would drop or join them, and a proxy
 * in front may have evaluated the other one.
 */
export function refuseDuplicates(rawHeaders: readonly string[]): void {
  // A bit for each header: this runs for every request.
  let seen = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    const bit = SINGLE_HEADERS.get(name);
    if (bit === undefined) continue;
    if ((seen & bit) !== 0)
      throw httpRefusal(400, 'duplicate_header', `the header ${name} was sent twice: send it once`, {
        headers: { connection: 'close' },
      });
    seen |= bit;
  }
}

const SINGLE_HEADERS: ReadonlyMap<string, number> = new Map(
  [
    'host',
    'origin',
    'authorization',
    'x-api-key',
    'content-type',
    'content-length',
    'transfer-encoding',
    'expect',
    'upgrade',
    'idempotency-key',
    'last-event-id',
    'x-request-id',
    'sec-websocket-key',
    'sec-websocket-version',
  ].map((name, index) => [name, 1 << index]),
);

/**
 * Rejects cross-site browser requests. DNS rebinding shows in `Host`, so only IP addresses and configured names
 * are accepted. Returns the origin to allow, if the request has one.
 */
export function guardRequest(
  headers: IncomingHttpHeaders,
  { hosts, origins }: GuardOptions,
): string | undefined {
  if (headers.host === undefined || headers.host === '')
    throw httpRefusal(
      400,
      'malformed_request',
      'the Host header is missing: send the name or address of this server',
    );
  const name = hostName(headers.host);
  if (name === undefined || !(name === 'localhost' || hosts.includes(name) || isIP(name) > 0))
    throw httpRefusal(
      403,
      'host_not_allowed',
      'the Host header names no host of this server: use its address, or add the name to the configured hosts',
    );
  const { origin } = headers;
  if (origin === undefined) return undefined;
  const isOwn = /^https?:\/\//.test(origin) && origin.replace(/^https?:\/\//, '') === headers.host;
  if (isOwn || origins.includes(origin)) return origin;
  throw httpRefusal(403, 'origin_not_allowed', 'pages of this origin may not use the server');
}

/** Removes the port, and the brackets of an IPv6 address. Almost all requests have the same host. */
const hostName = lastResult((host: string): string | undefined => {
  const [, v6, name] = /^(?:\[([0-9a-f:.]+)\]|([^:/@\s]+))(?::\d{1,5})?$/i.exec(host) ?? [];
  return (v6 ?? name)?.toLowerCase().replace(/\.$/, '');
});
