import { arrayOf, isObject, type JsonObject, objectOf } from '../../base/index.ts';

/**
 * A server's schema of a tool's arguments, in the form that every provider takes: an object at the top and no choice
 * between schemas there, because a provider that minds refuses the whole request, not only the tool. What a choice
 * offered stays visible as optional properties; the server checks the arguments itself.
 */
export function argumentsSchema(schema: unknown): JsonObject {
  const given = objectOf(schema);
  const kept = Object.entries(given).filter(([key]) => !NOT_AT_THE_TOP.has(key));
  const choices = CHOICES.flatMap((key) => arrayOf(given[key])).map((choice) => objectOf(choice));
  const offered = [...choices, given].flatMap(({ properties }) => Object.entries(objectOf(properties)));
  const properties = new Map(offered.filter(([, part]) => isSchema(part)));
  const required = arrayOf(given.required).filter((key) => typeof key === 'string' && properties.has(key));
  return {
    ...Object.fromEntries(kept),
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 ? { required } : {}),
  };
}

const CHOICES = ['anyOf', 'oneOf', 'allOf'] as const;
const NOT_AT_THE_TOP: ReadonlySet<string> = new Set([
  ...CHOICES,
  '$schema',
  '$id',
  'not',
  'if',
  'then',
  'else',
  'enum',
  'const',
  'type',
  'properties',
  'required',
]);

function isSchema(value: unknown): boolean {
  return isObject(value) || typeof value === 'boolean';
}
