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

/** JSON.parse that answers undefined instead of throwing; no valid JSON text means undefined. */
export function tryParse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The object in a JSON text; undefined if the text is not JSON, empty if it is JSON but no object. */
export function objectIn(text: string): JsonObject | undefined {
  const value = tryParse(text);
  return value === undefined ? undefined : objectOf(value);
}

const EMPTY: JsonObject = Object.freeze({});
const NOTHING: readonly unknown[] = Object.freeze([]);
