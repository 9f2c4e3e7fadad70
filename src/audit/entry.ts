import { hash as digest } from 'node:crypto';
import { isObject, numberOf, parseObject, objectOf, type Redact, stringOf } from '../base/index.ts';
import type { AuditEvent } from './event.ts';

/** The number and hash of an entry, which the next entry refers to. */
export interface ChainHead {
  readonly seq: number;
  readonly hash: string;
}

export const CHAIN_START: ChainHead = { seq: 0, hash: '0'.repeat(64) };

/** A parsed entry. Its event may be unknown to this version. */
export interface AuditEntry extends Omit<AuditEvent, 'event'>, ChainHead {
  readonly event: string;
  readonly time: string;
  /** The hash of the previous entry. */
  readonly prev: string;
}

/** Encodes one line of the log, and returns it with the new head of the chain. The hash covers all bytes of the line before the hash. */
export function encodeEntry(
  event: AuditEvent,
  { after, time, redact }: { readonly after: ChainHead; readonly time: Date; readonly redact: Redact },
): { readonly line: string; readonly head: ChainHead } {
  const seq = after.seq + 1;
  const { event: name, details, ...rest } = event;
  const fields = {
    ...objectOf(limitValue(rest, redact)),
    ...(details && { details: limitValue(details, redact) }),
  };
  const at = time.toISOString();
  const body = escapeUnprintable(JSON.stringify({ seq, time: at, event: name, ...fields, prev: after.hash }));
  // Our own entries are shorter. One oversized event must not fill the log.
  const text =
    body.length <= MAX_LINE
      ? body
      : JSON.stringify({ seq, time: at, event: name, outcome: 'entry_too_long', prev: after.hash });
  const preimage = text.slice(0, -1);
  const hash = digest('sha256', preimage);
  return { line: `${preimage}${HASH_KEY}${hash}"}`, head: { seq, hash: hash } };
}

const HASH_KEY = ',"hash":"';
const MAX_LINE = 8_192;

/** Parses and verifies a line; undefined if it is not an entry or its hash is wrong. */
export function decodeEntry(line: string): AuditEntry | undefined {
  const at = line.length - HASH_KEY.length - 64 - 2;
  if (at < 0 || line.slice(at, at + HASH_KEY.length) !== HASH_KEY || !line.endsWith('"}')) return undefined;
  const hash = line.slice(at + HASH_KEY.length, -2);
  if (digest('sha256', line.slice(0, at)) !== hash) return undefined;
  return readEntry(line);
}

/** Parses a line without verifying its hash; undefined if it is not an entry. */
export function readEntry(line: string): AuditEntry | undefined {
  const value = parseObject(line);
  const [seq, event] = [numberOf(value?.seq), stringOf(value?.event)];
  if (value === undefined || seq === undefined || event === '') return undefined;
  const text = (name: string): string | undefined => stringOf(value[name]) || undefined;
  const [prev, hash, time] = [value.prev, value.hash, value.time].map(stringOf);
  return {
    seq,
    event,
    time: time ?? '',
    prev: prev ?? '',
    hash: hash ?? '',
    door: text('door'),
    by: text('by'),
    keyId: text('keyId'),
    session: text('session'),
    remote: text('remote'),
    requestId: text('requestId'),
    clientRequestId: text('clientRequestId'),
    action: text('action'),
    target: text('target'),
    outcome: text('outcome'),
    count: numberOf(value.count),
    details: isObject(value.details) ? value.details : undefined,
  };
}

/** Limits for values that clients chose: 200 characters are enough to identify a client. */
const MAX_TEXT = 200;
const MAX_ITEMS = 20;
const MAX_DEPTH = 4;

function limitValue(value: unknown, redact: Redact, depth = 0): unknown {
  if (typeof value === 'string') {
    // Truncated before redaction, too, so that a megabyte is not searched for secrets.
    const clean = redact(value.slice(0, 4 * MAX_TEXT));
    if (clean.length <= MAX_TEXT && value.length <= 4 * MAX_TEXT) return clean;
    return `${clean.slice(0, MAX_TEXT)}… (${value.length} characters)`;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return '…';
  if (Array.isArray(value))
    return value.slice(0, MAX_ITEMS).map((item) => limitValue(item, redact, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .slice(0, MAX_ITEMS)
      .map(([key, item]) => [key.slice(0, 64), limitValue(item, redact, depth + 1)]),
  );
}

/** Escapes characters that move the cursor, change the text direction or look like a line end. */
function escapeUnprintable(json: string): string {
  return json.replaceAll(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
