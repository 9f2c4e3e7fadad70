import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { schemaError, schemaProblems } from '../../../src/base/index.ts';

const TOO_SLOW = ['arguments: cannot be checked: the check takes longer than 1 s: send simpler values'];

/** Each definition refers twice to the next one. */
function doublingReferences(keyword: 'allOf' | 'anyOf') {
  const names = Array.from({ length: 40 }, (_, at) => `d${at}`);
  const $defs = Object.fromEntries(
    names.map((name, at) => {
      const $ref = `#/$defs/${names[at + 1]}`;
      return [name, at === names.length - 1 ? { type: 'string' } : { [keyword]: [{ $ref }, { $ref }] }];
    }),
  );
  return { $defs, properties: { a: { $ref: '#/$defs/d0' } } };
}

describe('a schema from outside', () => {
  it.each([
    ['a pattern that backtracks', { properties: { a: { pattern: '^(a+)+$' } } }, { a: `${'a'.repeat(40)}!` }],
    ['a pattern for keys', { patternProperties: { '^(a+)+$': {} } }, { [`${'a'.repeat(40)}!`]: 1 }],
    ['references that double at each level', doublingReferences('allOf'), { a: 1 }],
    ['alternatives that double at each level', doublingReferences('anyOf'), { a: 1 }],
  ])('with %s is interrupted, and the next check works', (_, schema, value) => {
    expect(schemaError(schema)).toBeUndefined();
    expect(schemaProblems(value, schema)).toEqual(TOO_SLOW);
    expect(schemaProblems({ b: 1 }, { ...schema, required: ['c'] })).toEqual(['c: is missing']);
  });

  it('that takes too long to compile is rejected', () => {
    const patterns = Array.from({ length: 3_500 }, (_, at) => [`p${at}`, {}] as const);
    const schema = { patternProperties: Object.fromEntries(patterns), additionalProperties: false };
    expect(schemaError(schema)).toBe('it takes longer than 1 s to compile: simplify it');
    expect(schemaProblems({}, schema)).toEqual([
      'arguments: cannot be checked: the JSON Schema cannot be used: it takes longer than 1 s to compile: simplify it',
    ]);
  });

  it.each([
    [{ type: 'file' }, /^type: must be one of "array", /],
    [{ properties: { a: { required: true } } }, 'properties.a.required: must be array'],
    [{ properties: { a: { minimum: 'x' } } }, 'properties.a.minimum: must be number'],
    [{ pattern: '(' }, /^Invalid regular expression/],
    [{ $ref: '#/$defs/a' }, /^\$ref: cannot resolve "#\/\$defs\/a"/],
    [{ $ref: '#' }, /^it refers to itself without end/],
    [{ $schema: 'http://json-schema.org/draft-04/schema#' }, /^\$schema: must be one of /],
    [{ $schema: 1 }, /^\$schema: must be one of /],
    [{ $schema: 'https://json-schema.org/draft/2020-12/schema', type: 1 }, /^type: must be/],
    [{ $schema: 'http://json-schema.org/draft-07/schema#', type: 1 }, /^type: must be/],
    [{ $id: 'https://json-schema.org/draft/2020-12/schema' }, /already exists/],
    [{ description: 'x'.repeat(131_072) }, /^it has \d+ characters, and may have at most 131072$/],
    [nested(200), 'lists and objects may be nested at most 128 levels deep'],
    [cyclic(), 'lists and objects may be nested at most 128 levels deep'],
    [{ default: 1n }, 'Do not know how to serialize a BigInt'],
  ])('is rejected if it is invalid: case %#', (schema, reason) => {
    expect(schemaError(schema)).toMatch(reason);
  });

  it('selects the dialect with $schema', () => {
    const tuple = { items: [{ type: 'string' }] };
    expect(schemaError(tuple)).toBe('items: must be object or boolean');
    for (const $schema of ['draft-07/schema#', 'draft-06/schema#', 'draft-07/schema'])
      expect(schemaProblems([1], { $schema: `http://json-schema.org/${$schema}`, ...tuple })).toEqual([
        '0: must be string',
      ]);
    const $schema = 'https://json-schema.org/draft/2019-09/schema';
    expect(schemaProblems([1], { $schema, ...tuple })).toEqual(['0: must be string']);
  });

  it('cannot fetch anything', async () => {
    const requests: (string | undefined)[] = [];
    const server = createServer(({ url }, response) => {
      requests.push(url);
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const $ref = `http://127.0.0.1:${(server.address() as AddressInfo).port}/schema.json`;
    expect(schemaError({ $ref })).toContain(`cannot resolve "${$ref}"`);
    server.close();
    await once(server, 'close');
    expect(requests).toEqual([]);
  });

  it('can have the same $id as another one', () => {
    for (const type of ['string', 'number']) {
      const schema = { $id: 'https://example.org/a', $defs: { b: { $id: 'b', type } }, $ref: 'b' };
      expect(schemaProblems(true, schema)).toEqual([`arguments: must be ${type}`]);
    }
  });

  it.each(['constructor', '__proto__', '#/constructor', '#/$defs/__proto__', '#toString'])(
    'cannot refer to what every object inherits: %s',
    ($ref) => {
      expect(schemaError({ $defs: {}, $ref })).toContain(`cannot resolve "${$ref}"`);
    },
  );

  it('can name keys that every object inherits', () => {
    const schema: unknown = JSON.parse(
      '{"properties":{"constructor":{"type":"string"}},"required":["toString"],"additionalProperties":false}',
    );
    expect(schemaProblems(JSON.parse('{"constructor":1,"__proto__":{"toString":1}}'), schema)).toEqual([
      'toString: is missing',
      '__proto__: is not a key',
      'constructor: must be string',
    ]);
    const own = JSON.parse('{"$defs":{"__proto__":{"type":"string"}},"$ref":"#/$defs/__proto__"}') as object;
    expect(schemaProblems(1, own)).toEqual(['arguments: must be string']);
    expect(Object.keys(Object.prototype)).toEqual([]);
  });

  it('is compiled again after others have taken its place in the cache', () => {
    const schemas = Array.from({ length: 12 }, (_, at) => ({ const: at, description: 'x'.repeat(100_000) }));
    const check = () => schemas.map((schema) => schemaProblems(3, schema).length);
    const expected = schemas.map(({ const: value }) => (value === 3 ? 0 : 1));
    expect(check()).toEqual(expected);
    expect(check()).toEqual(expected);
  });
});

describe('a value from outside', () => {
  it('of 500,000 invalid items has one problem', () => {
    const items = Array.from({ length: 500_000 }, () => 1);
    expect(schemaProblems(items, { items: { type: 'string' } })).toEqual(['0: must be string']);
  });

  it('with long keys and many choices has short problems', () => {
    const long = 'k'.repeat(15_000);
    const choices = Array.from({ length: 1_000 }, (_, at) => `choice ${at}`);
    const [key = '', choice = ''] = [
      ...schemaProblems({ [long]: 1 }, { additionalProperties: false }),
      ...schemaProblems('x', { enum: choices }),
    ];
    expect(key).toMatch(/^k{1000}…/);
    expect(choice.length).toBeLessThan(1_000);
    expect(choice).toMatch(/"choice 49", …$/);
  });

  it('is not checked while no file can be opened, and the process continues', () => {
    const script = `
      const { openSync, closeSync } = require('node:fs');
      import(${JSON.stringify(resolve('dist/base/index.js'))}).then(({ schemaProblems }) => {
        const schema = { type: 'object' };
        const files = [];
        try { for (;;) files.push(openSync('/dev/null')); } catch {}
        const during = schemaProblems(1, schema);
        files.forEach((file) => closeSync(file));
        console.log(JSON.stringify([during, schemaProblems(1, schema)]));
      });`;
    const command = 'ulimit -n 100; exec "$0" -e "$1"';
    const output = execFileSync('bash', ['-c', command, process.execPath, script], { encoding: 'utf8' });
    expect(JSON.parse(output)).toEqual([[expect.stringContaining('EMFILE')], ['arguments: must be object']]);
  });
});

function nested(levels: number): { readonly not?: object } {
  let schema = {};
  for (let level = 0; level < levels; level += 1) schema = { not: schema };
  return schema;
}

function cyclic(): { readonly properties: object } {
  const schema = { properties: {} };
  schema.properties = { schema };
  return schema;
}
