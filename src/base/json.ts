import { messageOf, PolypodError } from './errors.ts';
import { cutBelow, isDeeperThan, MAX_DEPTH, MESSAGE_DEPTH } from './json-depth.ts';

/** A JSON object whose fields nobody has looked at yet. */
export type JsonObject = { readonly [key: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is an object, else an empty one: foreign JSON is read without a check at every level. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : EMPTY;
}

/** The value if it is a string, else ''. */
export function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The value if it is a finite number, else undefined: unknown is never 0. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : NOTHING;
}

/**
 * JSON.parse that answers undefined instead of throwing; no valid JSON text means undefined. So does a text that is nested
 * too deep: everything that is recursive may rely on what this returns.
 */
export function tryParse(text: string, depth = MAX_DEPTH): unknown {
  if (isDeeperThan(depth, text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A parsed message, or the reason why it is invalid, as a sentence for its sender. */
export type ReadMessage =
  | { readonly value: unknown }
  | { readonly problem: 'too-deep' | 'not-json'; readonly reason: string };

/** Parses a message from a client, a model or an MCP server. The depth limit is checked before parsing. */
export function readMessage(text: string, depth = MESSAGE_DEPTH): ReadMessage {
  if (isDeeperThan(depth, text)) return { problem: 'too-deep', reason: tooDeep(depth) };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (thrown) {
    return { problem: 'not-json', reason: messageOf(thrown) };
  }
}

/** The error text for a message that is nested too deep. */
export function tooDeep(depth = MESSAGE_DEPTH): string {
  return `lists and objects may be nested at most ${depth} levels deep`;
}

/** Parses a file of JSON; throws `bad-request` with the reason. */
export function parseJson(text: string): unknown {
  const read = readMessage(text, MAX_DEPTH);
  if ('value' in read) return read.value;
  throw new PolypodError('bad-request', read.reason);
}

/** The object in a JSON text; undefined if the text is not JSON, empty if it is JSON but no object. */
export function objectIn(text: string): JsonObject | undefined {
  const value = tryParse(text);
  return value === undefined ? undefined : objectOf(value);
}

/**
 * The object in a frame of a provider's stream, as `objectIn` reads it. Values beyond the depth
 * limit are replaced, so the surrounding call or text is kept; truncated arguments then fail their own, lower limit.
 */
export function frameIn(payload: string): JsonObject | undefined {
  return objectIn(cutBelow(MAX_DEPTH, payload));
}

const EMPTY: JsonObject = Object.freeze({});
const NOTHING: readonly unknown[] = Object.freeze([]);
