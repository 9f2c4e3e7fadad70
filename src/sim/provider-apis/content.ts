import { arrayOf, type JsonObject, objectOf, stringOf } from '../../base/index.ts';

/**
 * Returns the text of a content that is a string or a list of parts with `text`, as three of the five APIs use
 * it.
 */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  return arrayOf(content)
    .map((part) => stringOf(objectOf(part)['text']))
    .filter((text) => text !== '')
    .join('\n');
}

/** Converts untrusted JSON to a list of objects. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return arrayOf(value).map(objectOf);
}

/** Returns the key of an `Authorization: Bearer` header. */
export function bearerKey(header: (name: string) => string): string {
  return header('authorization').replace(/^Bearer\s+/i, '');
}
