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

  it('ignores keywords and types that it does not support', () => {
    for (const schema of [undefined, true, {}, { type: 'file' }, { anyOf: [{ type: 'string' }] }])
      expect(schemaProblems({ any: 'thing' }, schema)).toEqual([]);
  });
});
