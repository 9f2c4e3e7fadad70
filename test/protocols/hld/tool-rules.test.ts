import { describe, expect, it } from 'vitest';
import { toolRules, withToolLists } from '../../../src/protocols/hld/sessions/tool-rules.ts';

describe('the rules for lists of tools', () => {
  it.each([
    ['Bash', [{ tool: 'bash', action: 'auto' }]],
    ['Bash(*)', [{ tool: 'bash', action: 'auto' }]],
    ['Bash(git log:*)', [{ tool: 'bash', command: 'git log', action: 'auto' }]],
    ['Bash(git log *)', [{ tool: 'bash', command: 'git log', action: 'auto' }]],
    ['Bash(npm test)', [{ tool: 'bash', command: 'npm test', exact: true, action: 'auto' }]],
    [' Edit(src/**) ', [{ tool: 'edit', path: 'src/**', action: 'auto' }]],
    ['MultiEdit', [{ tool: 'edit', action: 'auto' }]],
    ['Glob', [{ tool: 'find', action: 'auto' }]],
    ['read', [{ tool: 'read', action: 'auto' }]],
    ['WebFetch', [{ tool: 'web_fetch', action: 'auto' }]],
    ['WebFetch(domain:example.com)', [{ tool: 'web_fetch', host: 'example.com', action: 'auto' }]],
    ['NotebookEdit', [{ tool: 'NotebookEdit', action: 'auto' }]],
    ['mcp__files', [{ tool: 'mcp__files__*', action: 'auto' }]],
    ['mcp__my_files', [{ tool: 'mcp__my_files__*', action: 'auto' }]],
    ['mcp__files__read', [{ tool: 'mcp__files__read', action: 'auto' }]],
    ['', []],
  ])('%s', (entry, rules) => {
    expect(toolRules({ allowedTools: [entry] })).toEqual(rules);
  });

  it('put denials first', () => {
    expect(toolRules({ allowedTools: ['Bash'], disallowedTools: ['Bash(rm:*)'] })).toEqual([
      { tool: 'bash', command: 'rm', action: 'deny' },
      { tool: 'bash', action: 'auto' },
    ]);
  });

  it('are replaced with the lists; rules added by decisions are kept', () => {
    const decided = { tool: 'bash', command: 'make', action: 'auto' } as const;
    const before = { allowedTools: ['Read'] };
    expect(withToolLists([decided, ...toolRules(before)], before, { allowedTools: ['Edit'] })).toEqual([
      { tool: 'edit', action: 'auto' },
      decided,
    ]);
  });
});
