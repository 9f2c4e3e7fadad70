import { expect, test } from 'vitest';
import { argumentsSchema } from '../../src/mcp/tools/tool-schema.ts';

const EMPTY = { type: 'object', properties: {} };
const A = { type: 'string' };
const B = { type: 'number' };

test.each([
  ['nothing', undefined, EMPTY],
  ['null', null, EMPTY],
  ['a list', [], EMPTY],
  ['true', true, EMPTY],
  ['text', { type: 'string' }, EMPTY],
  ['an empty object', { type: 'object' }, EMPTY],
  [
    'an object',
    { type: 'object', properties: { a: A }, required: ['a'], additionalProperties: false },
    { type: 'object', properties: { a: A }, required: ['a'], additionalProperties: false },
  ],
  [
    'a nullable object',
    { type: ['object', 'null'], properties: { a: A } },
    { ...EMPTY, properties: { a: A } },
  ],
  [
    'one with definitions',
    { $schema: 'x', $id: 'y', type: 'object', $defs: { a: A }, properties: { a: { $ref: '#/$defs/a' } } },
    { type: 'object', $defs: { a: A }, properties: { a: { $ref: '#/$defs/a' } } },
  ],
  [
    'a choice between objects',
    { type: 'object', anyOf: [{ properties: { a: A }, required: ['a'] }, { properties: { b: B } }] },
    { type: 'object', properties: { a: A, b: B } },
  ],
  [
    'a choice of what is required',
    { type: 'object', properties: { a: A, b: B }, required: ['a'], oneOf: [{ required: ['b'] }] },
    { type: 'object', properties: { a: A, b: B }, required: ['a'] },
  ],
  [
    'conditions',
    { ...JSON.parse('{"if": {}, "then": {}, "else": {}, "not": {}, "allOf": [1]}'), properties: { a: A } },
    { type: 'object', properties: { a: A } },
  ],
  [
    'a choice inside',
    { type: 'object', properties: { a: { anyOf: [A, B] } } },
    { type: 'object', properties: { a: { anyOf: [A, B] } } },
  ],
  [
    'invalid properties',
    { type: 'object', properties: { a: 5, b: B, c: true }, required: ['a', 'b', 'z', 7] },
    { type: 'object', properties: { b: B, c: true }, required: ['b'] },
  ],
])('the schema of %s becomes one that every provider accepts', (_, schema, expected) => {
  expect(argumentsSchema(schema)).toEqual(expected);
});
