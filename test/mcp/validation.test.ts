import { expect, test } from 'vitest';
import { mcpFixture, scripted } from './fixture.ts';

const SCHEMA = {
  type: 'object',
  properties: { path: { type: 'string', minLength: 1 }, url: { type: 'string' } },
  oneOf: [{ required: ['path'] }, { required: ['url'] }],
};

test('invalid arguments are rejected before the call, with the schema of the server', async () => {
  const { servers } = mcpFixture([
    scripted(`tools = [tool('read', { inputSchema: ${JSON.stringify(SCHEMA)} })];`),
  ]);
  const [read] = await servers.tools();
  expect(read?.parameters).not.toHaveProperty('oneOf');
  expect(read?.prepare({}, '/')).toEqual({
    invalid: expect.stringContaining(
      'arguments: must match one of the alternatives: path: is missing, or url: is missing',
    ) as unknown,
  });
  expect(read?.prepare({ path: '' }, '/')).toEqual({
    invalid: expect.stringContaining('path: must have at least 1 characters') as unknown,
  });
  expect(read?.prepare({ url: 'x' }, '/')).toMatchObject({ title: 'test: read {"url":"x"}' });
});

test.each([
  ['an unknown type', { type: 'object', properties: { a: { type: 'file' } } }],
  ['a reference to another document', { $ref: 'https://example.org/schema.json' }],
  [
    'an unknown dialect',
    { $schema: 'http://json-schema.org/draft-04/schema#', type: 'object', required: ['b'] },
  ],
  ['a schema that is not an object', 'text'],
])(
  'with %s, only the server validates the arguments, and its other tools are available',
  async (_, inputSchema) => {
    const code = `tools = [tool('bad', { inputSchema: ${JSON.stringify(inputSchema)} }), tool('good')];`;
    const { call } = mcpFixture([scripted(code)]);
    expect(await call('mcp__test__bad', { a: 1 })).toMatchObject({ content: [{ text: '{"a":1}' }] });
    expect(await call('mcp__test__good', { a: 1 })).toMatchObject({ content: [{ text: '{"a":1}' }] });
  },
);
