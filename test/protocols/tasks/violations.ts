import { arrayOf, type JsonObject, objectOf } from '../../../src/base/index.ts';

/** A value that violates one rule of a schema, and the rule. */
export interface Violation {
  readonly rule: string;
  readonly value: unknown;
}

/** For every rule of an object schema, a value that violates only this rule, derived from a valid one. */
export function violationsOf(schema: JsonObject, sound: JsonObject, path = ''): readonly Violation[] {
  const required = arrayOf(schema.required).map(String);
  const missing = required.map((key) => {
    const { [key]: _, ...rest } = sound;
    return { rule: `${path}${key} required`, value: rest };
  });
  const wrong = Object.entries(objectOf(schema.properties)).flatMap(([key, part]) =>
    violationsOfPart(objectOf(part), sound[key], `${path}${key}`).map(({ rule, value }) => ({
      rule,
      value: { ...sound, [key]: value },
    })),
  );
  return [...missing, ...wrong];
}

function violationsOfPart(schema: JsonObject, sound: unknown, path: string): readonly Violation[] {
  const { type, enum: words, pattern, maxLength, minimum, maximum, maxItems, items } = schema;
  const rules: [string, unknown][] = [
    ['type', type === 'object' ? 'text' : {}],
    ['null', null],
    ['type', true],
  ];
  if (type === 'string') rules.push(['type', 1]);
  if (type === 'integer') rules.push(['type', '1'], ['type', 1.5]);
  if (type === 'number') rules.push(['type', '1']);
  if (words !== undefined) rules.push(['enum', 'no-such-word']);
  if (pattern !== undefined) rules.push(['pattern', ''], ['pattern', ' \n\u3000']);
  // The maximum length is tested elsewhere; characters are not code units.
  if (typeof maxLength === 'number')
    rules.push(['maxLength', `/${'x'.repeat(maxLength)}`], ['maxLength', `/${'😀'.repeat(maxLength)}`]);
  if (typeof minimum === 'number') rules.push(['minimum', minimum - 1]);
  if (typeof maximum === 'number') rules.push(['maximum', maximum + 1]);
  if (typeof maxItems === 'number')
    rules.push(['maxItems', Array.from({ length: maxItems + 1 }, () => arrayOf(sound)[0])]);
  const inItems =
    items === undefined
      ? []
      : violationsOfPart(objectOf(items), arrayOf(sound)[0], `${path}.0`).map(({ rule, value }) => ({
          rule,
          value: [value],
        }));
  const inside = type === 'object' ? violationsOf(schema, objectOf(sound), `${path}.`) : [];
  return [...rules.map(([rule, value]) => ({ rule: `${path} ${rule}`, value })), ...inItems, ...inside];
}
