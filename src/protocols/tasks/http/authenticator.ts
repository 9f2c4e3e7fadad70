import type { IncomingHttpHeaders } from 'node:http';
import { type JsonObject, lastResult, type PolypodError } from '../../../base/index.ts';
import { httpRefusal, networkKey, RateTable } from '../../../wire/index.ts';
import { allows, type KeyRecord, type KeyPermission } from '../keys/key.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { TasksLimits } from '../settings.ts';
import { StreamTickets, type TicketTarget } from './stream-tickets.ts';

/** Authenticates requests by their key or ticket. */
export class Authenticator {
  readonly #ring: KeyRing | undefined;
  readonly #wrong: RateTable;
  readonly tickets: StreamTickets;

  /** Without a key ring, all requests are accepted. */
  constructor(
    ring: KeyRing | undefined,
    { wrongKeys, ticketMs }: Pick<TasksLimits, 'wrongKeys' | 'ticketMs'>,
  ) {
    this.#ring = ring;
    this.tickets = new StreamTickets((key) => this.isGood(key), ticketMs);
    this.#wrong = new RateTable(wrongKeys);
  }

  /** The valid key of a request, or of its ticket. */
  find(headers: IncomingHttpHeaders, ticket?: string): KeyRecord | undefined {
    if (this.#ring === undefined) return EVERYBODY;
    const [text, ...others] = keysIn(headers);
    if (ticket !== undefined) return text === undefined ? this.tickets.find(ticket)?.key : undefined;
    return text === undefined || others.length > 0 ? undefined : this.#ring.find(text);
  }

  /** The key record of a request. Keys are accepted in headers only: URLs end up in logs and histories. */
  enter(headers: IncomingHttpHeaders, remote: string, ticket?: string): KeyRecord {
    const key = this.find(headers, ticket);
    if (key !== undefined) return key;
    const [text = ticket, ...others] = keysIn(headers);
    if (ticket !== undefined && text !== ticket) throw keyAndTicket();
    if (others.length > 0)
      throw httpRefusal(
        400,
        'conflicting_keys',
        'the request has several keys: send one, in Authorization or X-API-Key',
      );
    const wait = text === undefined ? 0 : this.#wrong.take(networkKey(remote));
    if (wait > 0) throw tooMany('too many invalid keys from this address', wait);
    throw unauthorized(
      text === undefined
        ? 'a key is required: send it as "Authorization: Bearer <key>" or in X-API-Key, never in the URL'
        : ticket === undefined
          ? NOT_GOOD[this.#ring?.whyNot(text) ?? 'wrong']
          : NO_TICKET,
    );
  }

  /** Consumes a ticket. Throws if it is for another stream. */
  spend(text: string, { path, id }: TicketTarget): void {
    if (this.#ring === undefined) return;
    const { target } = this.tickets.find(text) ?? {};
    if (target === undefined || target.path !== path || target.id !== id)
      throw unauthorized('the ticket is for another stream: use the URL that was returned with it');
    this.tickets.spend(text);
  }

  /** The hash of the valid key with this id. */
  hashOf(keyId: string): string | undefined {
    return this.#ring?.hashOf(keyId);
  }

  isGood(key: KeyRecord): boolean {
    return this.#ring === undefined || this.#ring.isGood(key);
  }
}

function unauthorized(message: string): PolypodError {
  const headers = { 'www-authenticate': 'Bearer realm="polypod"' };
  return httpRefusal(401, 'unauthorized', message, { headers });
}

function keyAndTicket(): PolypodError {
  return httpRefusal(400, 'conflicting_keys', 'the request has a key and a ticket: send one of them');
}

const NO_TICKET =
  'the ticket is invalid: it was used, has expired, or its key was revoked; request another one with POST /stream_tickets';

const NOT_GOOD = {
  wrong: 'the key is invalid or was revoked',
  revoked: 'the key was revoked: request a new one',
  expired: 'the key has expired: request a new one, or use the one that replaced it',
} as const;

export function requirePermission(key: KeyRecord, scope: KeyPermission): void {
  if (allows(key, scope)) return;
  throw httpRefusal(403, 'missing_scope', `this key may not do that: it needs the permission ${scope}`, {
    details: { scope },
  });
}

/** Whether a request has a key in a header that is read here. */
export function offersKey(headers: IncomingHttpHeaders): boolean {
  return keysIn(headers).length > 0;
}

/** The distinct keys of a request. A browser's WebSocket cannot send headers, but it can offer subprotocols. */
function keysIn(headers: IncomingHttpHeaders): readonly string[] {
  const bearer = bearerIn(headers.authorization ?? '');
  const named = headers['x-api-key'];
  const protocols = headers['sec-websocket-protocol'];
  if (bearer !== undefined && named === undefined && protocols === undefined) return [bearer];
  const offered = protocols?.split(',').map((name) => name.trim()) ?? [];
  const found = [
    bearer,
    typeof named === 'string' && named !== '' ? named : undefined,
    ...offered.filter((name) => name.startsWith(BEARER)).map((name) => name.slice(BEARER.length)),
  ];
  return [...new Set(found.filter((key) => key !== undefined))];
}

/** Clients send one request after the other with the same key. */
const bearerIn = lastResult((authorization: string): string | undefined => {
  const [, bearer] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
  return bearer;
});

/** Refuses a key in the URL, even next to a valid one: proxies and histories store URLs, so that key is exposed. */
export function refuseKeyInAddress(url: string, query: JsonObject): void {
  const hasKey =
    url.includes(KEY_PREFIX) ||
    Object.entries(query).some(
      ([name, value]) => KEY_NAMES.has(name.toLowerCase()) || String(value).includes(KEY_PREFIX),
    );
  if (hasKey)
    throw httpRefusal(
      400,
      'key_in_address',
      'the URL contains a key, and URLs end up in logs: revoke that key, and send keys as "Authorization: Bearer <key>" or in X-API-Key',
    );
}

export function tooManyFailedAttempts(seconds: number): PolypodError {
  return tooMany('too many requests without a valid key from this address', seconds);
}

export function tooManyRequests(seconds: number): PolypodError {
  return tooMany('too many requests with this key', seconds);
}

function tooMany(why: string, seconds: number): PolypodError {
  return httpRefusal(429, 'rate_limited', `${why}: try again in ${seconds} s`, {
    headers: { 'retry-after': String(seconds) },
    details: { retryAfter: seconds },
  });
}

const BEARER = 'bearer.';
const KEY_PREFIX = 'ppk_';
const KEY_NAMES: ReadonlySet<string> = new Set([
  'key',
  'api_key',
  'apikey',
  'x-api-key',
  'access_token',
  'token',
]);

const EVERYBODY: KeyRecord = { id: 'noauth00', owner: 'local', scopes: ['admin'], hash: '', createdAt: '' };
