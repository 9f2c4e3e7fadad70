import { arrayOf, type JsonObject, objectOf, stringOf } from '../../base/index.ts';

/** Text of a content that is a string or a list of parts with a `text`, as three of the five wires have it. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  return arrayOf(content)
    .map((part) => stringOf(objectOf(part)['text']))
    .filter((text) => text !== '')
    .join('\n');
}

/** Foreign JSON as a list of objects. */
export function objectsOf(value: unknown): readonly JsonObject[] {
  return arrayOf(value).map(objectOf);
}

/** The key of an `Authorization: Bearer` header. */
export function bearer(header: (name: string) => string): string {
  return header('authorization').replace(/^Bearer\s+/i, '');
}
