import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { httpRefusal } from './http-server-refusal.ts';

export interface GuardOptions {
  /** Names under which the server is reached, beside `localhost` and addresses. */
  readonly hosts: readonly string[];
  /** Pages that may use it from a browser: `https://example.org`. */
  readonly origins: readonly string[];
}

/**
 * Refuses what a page elsewhere makes a browser send. A name that was pointed at this machine (DNS rebinding) shows in
 * `Host`: only addresses and names that we know are let in. Answers with the origin to allow, if the request has one.
 */
export function guardRequest(
  headers: IncomingHttpHeaders,
  { hosts, origins }: GuardOptions,
): string | undefined {
  const name = hostName(headers.host ?? '');
  if (name === undefined || !(isIP(name) > 0 || name === 'localhost' || hosts.includes(name)))
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

/** Without the port, and an IPv6 address without its brackets. */
function hostName(host: string): string | undefined {
  const [, v6, name] = /^(?:\[([0-9a-f:.]+)\]|([^:/@\s]+))(?::\d{1,5})?$/i.exec(host) ?? [];
  return (v6 ?? name)?.toLowerCase().replace(/\.$/, '');
}
