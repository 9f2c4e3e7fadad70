import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { McpServers } from '../../src/mcp/index.ts';
import { serverPart, toolNames } from '../../src/mcp/tools/tool-name.ts';
import { stdio } from './fixture.ts';

const named = (server: string, tools: readonly string[]) => [...toolNames(server, tools).values()];

describe('the name of a tool', () => {
  test.each([
    ['github', 'create_issue', 'mcp__github__create_issue'],
    ['My Server!', 'read', 'mcp__My_Server__read'],
    ['a__b', 'c', 'mcp__a_b__c'],
    ['files', 'fs.read', 'mcp__files__fs_read'],
    ['files', '読む', 'mcp__files___'],
    ['files', '__x', 'mcp__files____x'],
  ])('%s, %s is %s', (server, tool, name) => {
    expect(named(server, [tool])).toEqual([name]);
  });

  test('is shortened with a hash', () => {
    const [one = '', other = ''] = named('server', [`${'x'.repeat(80)}1`, `${'x'.repeat(80)}2`]);
    expect(one).toMatch(/^mcp__server__x{42}_[0-9a-f]{8}$/);
    expect(one).toHaveLength(64);
    expect(other).not.toBe(one);
    expect(named('server', [`${'x'.repeat(80)}2`])).toEqual([other]);
  });

  test("gets a hash if it would collide, unless it is the tool's real name", () => {
    expect(named('s', ['a/b', 'a_b', 'a.b'])).toEqual([
      expect.stringMatching(/^mcp__s__a_b_[0-9a-f]{8}$/),
      'mcp__s__a_b',
      expect.stringMatching(/^mcp__s__a_b_[0-9a-f]{8}$/),
    ]);
  });

  test('is valid for every provider and unique for the server', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', minLength: 1 }).map((name) => `${name}0`),
        fc.uniqueArray(fc.oneof(fc.string({ unit: 'grapheme' }), fc.stringMatching(/^[ab._/-]{1,80}$/))),
        (server, tools) => {
          const names = toolNames(server, tools);
          expect([...names.keys()]).toEqual(tools);
          expect(new Set(names.values()).size).toBe(tools.length);
          for (const name of names.values()) {
            expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
            // The server part can be separated from the tool part, which rules for all tools of a server need.
            expect(name.slice(5, name.indexOf('__', 5))).toBe(serverPart(server));
          }
        },
      ),
    );
  });
});

test('servers whose tools would have the same names are rejected', () => {
  const toolContext = { env: {}, secretEnv: [], cwd: '/', clientVersion: '0', onChange: () => {} };
  const sameNameSpecs = ['a b', 'a.b'].map((name) => stdio([], { name }));
  expect(() => new McpServers(sameNameSpecs, toolContext)).toThrow(
    'the tools of the MCP servers "a b" and "a.b" would have the same names: rename one of the servers',
  );
});
