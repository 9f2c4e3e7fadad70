import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { validateValue } from '../../../src/base/index.ts';

/** The official test suite of JSON Schema, from Debian's package libtest-json-schema-acceptance-perl. */
const SUITE = '/usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance/tests';

interface Group {
  readonly description: string;
  readonly schema: object | boolean;
  readonly tests: readonly {
    readonly description: string;
    readonly data: unknown;
    readonly valid: boolean;
  }[];
}

interface Unsupported {
  readonly file: string;
  readonly why: string;
  /** A group, if none of its cases passes, or one case: `group: case`. */
  readonly cases: readonly string[];
}

const REMOTE = 'Nothing is fetched: references can only refer to the schema itself.';
const PROTO = 'ajv ignores a schema for the key __proto__.';
const UNKNOWN_ID = 'ajv reads $id in unknown keywords.';

const IN_2020_12: readonly Unsupported[] = [
  {
    file: 'refRemote',
    why: REMOTE,
    cases: [
      'remote ref',
      'fragment within remote ref',
      'anchor within remote ref',
      'ref within remote ref',
      'base URI change',
      'base URI change - change folder',
      'base URI change - change folder in subschema',
      'root ref in remote ref',
      'remote ref with ref to defs',
      'Location-independent identifier in remote ref',
      'retrieved nested refs resolve relative to their URI not $id',
      'remote HTTP ref with different $id',
      'remote HTTP ref with different URN $id',
      'remote HTTP ref with nested absolute ref',
    ],
  },
  {
    file: 'dynamicRef',
    why: REMOTE,
    cases: [
      'strict-tree schema, guards against misspelled properties',
      'tests for implementation dynamic anchor and reference link',
      '$ref and $dynamicAnchor are independent of order - $defs first',
      '$ref and $dynamicAnchor are independent of order - $ref first',
    ],
  },
  {
    file: 'dynamicRef',
    why: 'ajv resolves $dynamicRef to the root of the schema if no $dynamicAnchor is in scope.',
    cases: [
      'A $dynamicRef to a $dynamicAnchor in the same schema resource behaves like a normal $ref to an $anchor: An array of strings is valid',
      'A $dynamicRef to an $anchor in the same schema resource behaves like a normal $ref to an $anchor: An array of strings is valid',
      'A $dynamicRef resolves to the first $dynamicAnchor still in scope that is encountered when the schema is evaluated: An array of strings is valid',
      'A $dynamicRef without anchor in fragment behaves identical to $ref: An array of numbers is valid',
      "A $dynamicRef with intermediate scopes that don't include a matching $dynamicAnchor does not affect dynamic scope resolution: An array of strings is valid",
      'An $anchor with the same name as a $dynamicAnchor is not used for dynamic scope resolution',
      'A $dynamicRef without a matching $dynamicAnchor in the same schema resource behaves like a normal $ref to $anchor',
      'A $dynamicRef with a non-matching $dynamicAnchor in the same schema resource behaves like a normal $ref to $anchor',
    ],
  },
  {
    file: 'dynamicRef',
    why: 'ajv supports only fragments in $dynamicRef.',
    cases: [
      'A $dynamicRef that initially resolves to a schema with a matching $dynamicAnchor resolves to the first $dynamicAnchor in the dynamic scope',
      'A $dynamicRef that initially resolves to a schema without a matching $dynamicAnchor behaves like a normal $ref to $anchor',
      'after leaving a dynamic scope, it is not used by a $dynamicRef',
    ],
  },
  {
    file: 'ref',
    why: 'ajv does not compile a schema whose $id and $ref are siblings and resolve to itself.',
    cases: [
      'refs with relative uris and defs',
      'relative refs with absolute uris and defs',
      'URN ref with nested pointer ref',
    ],
  },
  {
    file: 'unevaluatedItems',
    why: 'ajv counts all items as evaluated by "contains".',
    cases: [
      'unevaluatedItems depends on adjacent contains: contains passes, second item is not evaluated',
      'unevaluatedItems depends on multiple nested contains: 7 not evaluated, fails unevaluatedItems',
      "unevaluatedItems and contains interact to control item dependency relationship: only a's and c's are invalid",
      "unevaluatedItems and contains interact to control item dependency relationship: only b's and c's are invalid",
      "unevaluatedItems and contains interact to control item dependency relationship: only b's are invalid",
      "unevaluatedItems and contains interact to control item dependency relationship: only c's are invalid",
    ],
  },
  {
    file: 'unevaluatedItems',
    why: 'ajv does not count the items that "items" in an alternative evaluates.',
    cases: [
      'unevaluatedItems with nested items: with invalid additional item',
      'unevaluatedItems with nested items: with no additional items',
    ],
  },
  {
    file: 'unevaluatedProperties',
    why: 'ajv finds no unevaluated properties if "if" does not match and there is no "then".',
    cases: [
      'unevaluatedProperties with if/then/else, then not defined: when if is false and has unevaluated properties',
    ],
  },
  {
    file: 'properties',
    why: PROTO,
    cases: ['properties whose names are Javascript object property names: __proto__ not valid'],
  },
  {
    file: 'unknownKeyword',
    why: UNKNOWN_ID,
    cases: ['$id inside an unknown keyword is not a real identifier'],
  },
  {
    file: 'vocabulary',
    why: 'Only the standard dialects are accepted in $schema.',
    cases: [
      'schema that uses custom metaschema with with no validation vocabulary',
      'ignore unrecognized optional vocabulary',
    ],
  },
];

const IN_DRAFT_7: readonly Unsupported[] = [
  {
    file: 'refRemote',
    why: REMOTE,
    cases: [
      'remote ref',
      'fragment within remote ref',
      'ref within remote ref',
      'base URI change',
      'base URI change - change folder',
      'base URI change - change folder in subschema',
      'root ref in remote ref',
      'remote ref with ref to definitions',
      'Location-independent identifier in remote ref',
      'retrieved nested refs resolve relative to their URI not $id',
    ],
  },
  {
    file: 'properties',
    why: PROTO,
    cases: ['properties whose names are Javascript object property names: __proto__ not valid'],
  },
  {
    file: 'ref',
    why: 'ajv reads an $id next to $ref.',
    cases: ['$ref prevents a sibling $id from changing the base uri'],
  },
  {
    file: 'unknownKeyword',
    why: UNKNOWN_ID,
    cases: ['$id inside an unknown keyword is not a real identifier'],
  },
];

describe.runIf(existsSync(SUITE)).each([
  { folder: 'draft2020-12', declared: {}, unsupported: IN_2020_12 },
  {
    folder: 'draft7',
    declared: { $schema: 'http://json-schema.org/draft-07/schema#' },
    unsupported: IN_DRAFT_7,
  },
])('the required cases of $folder', ({ folder, declared, unsupported }) => {
  const files = existsSync(SUITE)
    ? readdirSync(join(SUITE, folder)).filter((name) => name.endsWith('.json'))
    : [];

  it('include the unsupported ones', () => {
    expect(files.length).toBeGreaterThan(35);
    expect(files).toEqual(expect.arrayContaining(unsupported.map(({ file }) => `${file}.json`)));
  });

  it.each(files)('%s', (name) => {
    const groups = JSON.parse(readFileSync(join(SUITE, folder, name), 'utf8')) as readonly Group[];
    const known = unsupported.filter(({ file }) => `${file}.json` === name).flatMap(({ cases }) => cases);
    expect(groups.flatMap((group) => failedCases(group, declared)).toSorted()).toEqual(known.toSorted());
  });
});

function failedCases({ description, schema, tests }: Group, declared: object): readonly string[] {
  const complete = typeof schema === 'boolean' ? schema : { ...declared, ...schema };
  const failed = tests.filter(({ data, valid }) => {
    const check = validateValue(data, complete);
    return !('problems' in check) || (check.problems.length === 0) !== valid;
  });
  if (failed.length === tests.length) return [description];
  return failed.map((one) => `${description}: ${one.description}`);
}
