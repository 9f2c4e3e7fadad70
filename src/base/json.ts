import { messageOf, PolypodError } from './errors.ts';
import { truncateBelow, isDeeperThan, MAX_DEPTH, MESSAGE_DEPTH } from './json-depth.ts';

/** A JSON object with unvalidated fields. */
export type JsonObject = { readonly [key: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value if it is an object, else an empty object, so that foreign JSON can be read without a check at every level. */
export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : EMPTY_OBJECT;
}

/** The value if it is a string, else ''. */
export function stringOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The value if it is a finite number, else undefined. An unknown number is never 0. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** The value if it is an array, else an empty array. */
export function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : EMPTY_ARRAY;
}

/**
 * JSON.parse that returns undefined instead of throwing. It also returns undefined for a text that is nested too deep,
 * so that recursive code can handle every value that it returns.
 */
export function tryParse(text: string, depth = MAX_DEPTH): unknown {
  if (isDeeperThan(depth, text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A parsed message, or the reason why it is invalid, worded for the sender. */
export type ReadMessage =
  | { readonly value: unknown }
  | { readonly problem: 'too-deep' | 'not-json'; readonly reason: string };

/** Parses a message from a client, a model or an MCP server. The depth limit is checked before parsing. */
export function readMessage(text: string, depth = MESSAGE_DEPTH): ReadMessage {
  if (isDeeperThan(depth, text)) return { problem: 'too-deep', reason: tooDeepMessage(depth) };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (thrown) {
    return { problem: 'not-json', reason: messageOf(thrown) };
  }
}

/** The error message for JSON that is nested too deep. */
export function tooDeepMessage(depth = MESSAGE_DEPTH): string {
  return `lists and objects may be nested at most ${depth} levels deep`;
}

/** Parses the content of a JSON file; throws `bad-request` with the reason. */
export function parseJson(text: string): unknown {
  const read = readMessage(text, MAX_DEPTH);
  if ('value' in read) return read.value;
  throw new PolypodError('bad-request', read.reason);
}

/** Parses a JSON object. Returns undefined if the text is not JSON, and an empty object if the value is not an object. */
export function parseObject(text: string): JsonObject | undefined {
  const value = tryParse(text);
  return value === undefined ? undefined : objectOf(value);
}

/**
 * Parses a frame of a provider's stream like `parseObject`. Values beyond the depth limit are replaced, so that the
 * surrounding call or text is kept; truncated arguments then fail their own, lower limit.
 */
export function parseFrame(payload: string): JsonObject | undefined {
  return parseObject(truncateBelow(MAX_DEPTH, payload));
}

const EMPTY_OBJECT: JsonObject = Object.freeze({});
const EMPTY_ARRAY: readonly unknown[] = Object.freeze([]);
