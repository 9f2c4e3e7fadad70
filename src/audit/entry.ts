import { hash as digest } from 'node:crypto';
import { isObject, numberOf, objectIn, objectOf, type Redact, stringOf } from '../base/index.ts';
import type { AuditEvent } from './event.ts';

/** The place in the chain that an entry follows. */
export interface ChainHead {
  readonly seq: number;
  readonly hash: string;
}

export const CHAIN_START: ChainHead = { seq: 0, hash: '0'.repeat(64) };

/** An entry as it is read; its event may be one that only a newer version knows. */
export interface AuditEntry extends Omit<AuditEvent, 'event'>, ChainHead {
  readonly event: string;
  readonly time: string;
  /** The hash of the entry before. */
  readonly prev: string;
}

/** One line of the log and the head of the chain after it. The hash covers every byte of the line before itself. */
export function encodeEntry(
  event: AuditEvent,
  { after, time, redact }: { readonly after: ChainHead; readonly time: Date; readonly redact: Redact },
): { readonly line: string; readonly head: ChainHead } {
  const seq = after.seq + 1;
  const { event: name, details, ...rest } = event;
  const fields = {
    ...objectOf(bounded(rest, redact)),
    ...(details && { details: bounded(details, redact) }),
  };
  const at = time.toISOString();
  const body = printable(JSON.stringify({ seq, time: at, event: name, ...fields, prev: after.hash }));
  // Nothing that we write is so long: whatever it is, one event must not fill the log.
  const text =
    body.length <= LONGEST_LINE
      ? body
      : JSON.stringify({ seq, time: at, event: name, outcome: 'entry_too_long', prev: after.hash });
  const preimage = text.slice(0, -1);
  const own = digest('sha256', preimage);
  return { line: `${preimage}${HASH_KEY}${own}"}`, head: { seq, hash: own } };
}

const HASH_KEY = ',"hash":"';
const LONGEST_LINE = 8_192;

/** Reads a line; undefined unless it is an entry whose hash is that of its bytes. */
export function decodeEntry(line: string): AuditEntry | undefined {
  const at = line.length - HASH_KEY.length - 64 - 2;
  if (at < 0 || line.slice(at, at + HASH_KEY.length) !== HASH_KEY || !line.endsWith('"}')) return undefined;
  const own = line.slice(at + HASH_KEY.length, -2);
  if (digest('sha256', line.slice(0, at)) !== own) return undefined;
  return readEntry(line);
}

/** Reads a line without checking its hash; undefined if it is no entry. */
export function readEntry(line: string): AuditEntry | undefined {
  const value = objectIn(line);
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

/** Values that others chose are cut: 200 characters say who it was, and a megabyte says no more. */
const LONGEST_TEXT = 200;
const MOST_ITEMS = 20;
const DEEPEST = 4;

function bounded(value: unknown, redact: Redact, depth = 0): unknown {
  if (typeof value === 'string') {
    // Cut before redacting too: a secret is not searched for in a megabyte.
    const clean = redact(value.slice(0, 4 * LONGEST_TEXT));
    if (clean.length <= LONGEST_TEXT && value.length <= 4 * LONGEST_TEXT) return clean;
    return `${clean.slice(0, LONGEST_TEXT)}… (${value.length} characters)`;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= DEEPEST) return '…';
  if (Array.isArray(value)) return value.slice(0, MOST_ITEMS).map((item) => bounded(item, redact, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .slice(0, MOST_ITEMS)
      .map(([key, item]) => [key.slice(0, 64), bounded(item, redact, depth + 1)]),
  );
}

/** Characters that move a cursor, reverse a line or look like its end are escaped, as JSON allows for every character. */
function printable(json: string): string {
  return json.replaceAll(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
