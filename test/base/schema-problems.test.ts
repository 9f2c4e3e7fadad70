import { describe, expect, it } from 'vitest';
import { schemaProblems } from '../../src/base/index.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    count: { type: ['integer', 'null'] },
    mode: { enum: ['a', 'b'] },
    tags: { type: 'array', items: { type: 'string' } },
    deep: { type: 'object', properties: { x: { const: 1 } }, required: ['x'] },
  },
  required: ['name'],
  additionalProperties: false,
};

describe('schemaProblems', () => {
  it.each([
    [{ name: 'x' }, []],
    [{ name: 'x', count: null, mode: 'a', tags: ['t'], deep: { x: 1, more: 2 } }, []],
    [{}, ['name: is missing']],
    [{ name: 1 }, ['name: must be string']],
    [{ name: 'x', count: 1.5 }, ['count: must be integer or null']],
    [{ name: 'x', mode: 'c' }, ['mode: must be one of "a", "b"']],
    [{ name: 'x', tags: ['t', 2] }, ['tags.1: must be string']],
    [{ name: 'x', deep: {} }, ['deep.x: is missing']],
    [{ name: 'x', deep: { x: 2 } }, ['deep.x: must be one of 1']],
    [{ name: 'x', other: 1 }, ['other: is not a key']],
    ['text', ['arguments: must be object']],
    [null, ['arguments: must be object']],
  ])('%j', (value, problems) => {
    expect(schemaProblems(value, SCHEMA)).toEqual(problems);
  });

  it.each([
    [{ anyOf: [{ type: 'string' }] }, {}, ['arguments: must be string']],
    [
      { properties: { a: { anyOf: [{ type: 'string' }, { type: 'null' }] } } },
      { a: 1 },
      ['a: must be string or null'],
    ],
    [
      { oneOf: [{ required: ['path'] }, { $ref: '#/$defs/byUrl' }], $defs: { byUrl: { required: ['url'] } } },
      {},
      ['arguments: must match one of the alternatives: path: is missing, or url: is missing'],
    ],
    [
      { oneOf: [{ type: 'number' }, { type: 'integer' }] },
      1,
      ['arguments: must match only one of the schemas in "oneOf", and matches those at 0 and 1'],
    ],
    [{ allOf: [{ required: ['a'] }, { required: ['b'] }] }, {}, ['a: is missing', 'b: is missing']],
    [{ not: { type: 'object' } }, {}, ['arguments: must not match the schema in "not"']],
    [{ if: { required: ['a'] }, else: { required: ['b'] } }, {}, ['b: is missing']],
    [{ dependentRequired: { a: ['b'] } }, { a: 1 }, ['b: is missing, and required if there is "a"']],
    [{ properties: { a: false } }, { a: 1 }, ['a: is not allowed']],
    [{ properties: { a: {} }, unevaluatedProperties: false }, { b: 1 }, ['b: is not a key']],
    [
      { propertyNames: { maxLength: 1 } },
      { ab: 1 },
      ['ab: is not a valid key: must have at most 1 characters'],
    ],
    [{ minProperties: 1 }, {}, ['arguments: must have at least 1 keys']],
    [
      { items: { minLength: 2, pattern: '^a' } },
      ['b'],
      ['0: must have at least 2 characters', '0: must match the pattern ^a'],
    ],
    [{ minItems: 1 }, [], ['arguments: must have at least 1 items']],
    [{ prefixItems: [true], items: false }, [1, 2], ['arguments: must have at most 1 items']],
    [{ uniqueItems: true }, [1, 2, 1], ['arguments: must not have equal items, and items 0 and 2 are equal']],
    [
      { contains: { type: 'string' } },
      [1],
      ['arguments: must have at least 1 items that match the schema in "contains"'],
    ],
    [{ minimum: 1 }, 0, ['arguments: must be at least 1']],
    [{ exclusiveMaximum: 1 }, 1, ['arguments: must be less than 1']],
    [{ multipleOf: 2 }, 3, ['arguments: must be a multiple of 2']],
    [{ properties: { 'a/b~c': { type: 'string' } } }, { 'a/b~c': 1 }, ['a/b~c: must be string']],
  ])('%j %j', (schema, value, problems) => {
    expect(schemaProblems(value, schema)).toEqual(problems);
  });

  it('reports all problems, but at most 20', () => {
    expect(schemaProblems({ name: 1, mode: 'c', other: 1 }, SCHEMA)).toEqual([
      'other: is not a key',
      'name: must be string',
      'mode: must be one of "a", "b"',
    ]);
    const value = Array.from({ length: 30 }, () => 1);
    expect(schemaProblems(value, { items: { type: 'string' } })).toHaveLength(20);
  });

  it('accepts every value without a schema, and ignores formats and unknown keywords', () => {
    const unknown = {
      format: 'email',
      kind: 'file',
      id: 'x',
      nullable: true,
      discriminator: { propertyName: 'a' },
    };
    for (const schema of [undefined, true, {}, { properties: { any: unknown } }])
      expect(schemaProblems({ any: 'thing' }, schema)).toEqual([]);
    expect(schemaProblems(null, { type: 'string', nullable: true })).toEqual([]);
  });
});
