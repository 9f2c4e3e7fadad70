import type { IncomingHttpHeaders } from 'node:http';
import { type PolypodError } from '../../base/index.ts';
import { httpRefusal, RateTable } from '../../wire/index.ts';
import { allows, type KeyRecord, type Scope } from './keys/key.ts';
import type { KeyRing } from './keys/key-ring.ts';
import type { TasksLimits } from './settings.ts';

/** Who comes in: by a key that is good, not too often, and only for what the key is for. */
export class Entrance {
  readonly #ring: KeyRing | undefined;
  readonly #rates: RateTable;
  readonly #wrong: RateTable;

  /** Without a ring everybody is let in. */
  constructor(ring: KeyRing | undefined, { rate, wrongKeys }: Pick<TasksLimits, 'rate' | 'wrongKeys'>) {
    this.#ring = ring;
    this.#rates = new RateTable(rate);
    this.#wrong = new RateTable(wrongKeys);
  }

  /** Whose request it is. Keys are looked for in headers only: addresses end up in logs and histories. */
  enter(headers: IncomingHttpHeaders, remote: string): KeyRecord {
    if (this.#ring === undefined) return this.#limited(EVERYBODY);
    const text = keyIn(headers);
    const key = text === undefined ? undefined : this.#ring.find(text);
    // Whatever came from its address: who sends wrong keys must not keep others out.
    if (key !== undefined) return this.#limited(key);
    const wait = text === undefined ? 0 : this.#wrong.take(remote);
    if (wait > 0) throw tooMany('too many wrong keys came from this address', wait);
    throw httpRefusal(
      401,
      'unauthorized',
      text === undefined
        ? 'a key is needed: send it as "Authorization: Bearer <key>" or in X-API-Key'
        : 'the key is not good: it is wrong, or was revoked',
      { headers: { 'www-authenticate': 'Bearer realm="polypod"' } },
    );
  }

  isGood(key: KeyRecord): boolean {
    return this.#ring === undefined || this.#ring.isGood(key);
  }

  /** Counts one request or message of a key; refuses it beyond the key's rate. */
  charge(key: KeyRecord): void {
    const wait = this.#rates.take(key.id);
    if (wait > 0) throw tooMany('this key asks too often', wait);
  }

  #limited(key: KeyRecord): KeyRecord {
    this.charge(key);
    return key;
  }
}

export function requireScope(key: KeyRecord, scope: Scope): void {
  if (allows(key, scope)) return;
  throw httpRefusal(403, 'missing_scope', `this key may not do that: it needs the scope ${scope}`, {
    details: { scope },
  });
}

/** A WebSocket of a browser cannot send headers, but it may offer subprotocols. */
function keyIn(headers: IncomingHttpHeaders): string | undefined {
  const [, bearer] = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
  if (bearer !== undefined) return bearer;
  const named = headers['x-api-key'];
  if (typeof named === 'string' && named !== '') return named;
  const offered = headers['sec-websocket-protocol']?.split(',').map((name) => name.trim());
  return offered?.find((name) => name.startsWith(BEARER))?.slice(BEARER.length);
}

function tooMany(why: string, seconds: number): PolypodError {
  return httpRefusal(429, 'rate_limited', `${why}: try again in ${seconds} s`, {
    headers: { 'retry-after': String(seconds) },
    details: { retryAfter: seconds },
  });
}

const BEARER = 'bearer.';

const EVERYBODY: KeyRecord = { id: 'noauth00', owner: 'local', scopes: ['admin'], hash: '', createdAt: '' };
