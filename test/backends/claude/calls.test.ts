import { describe, expect, it } from 'vitest';
import { agentCall, inputFrom } from '../../../src/backends/claude/calls.ts';

const PATHS = { cwd: '/project', home: '/home/user' };
const call = (name: string, input: object) => agentCall({ callId: 'c', name, input: { ...input } }, PATHS);

describe('a call of Claude Code', () => {
  it.each([
    [
      'Bash',
      { command: 'npm test\nls' },
      'bash',
      'npm test ls',
      [{ type: 'command', command: 'npm test\nls', cwd: '/project' }],
    ],
    [
      'Bash',
      { command: 'serve', run_in_background: true },
      'bash',
      'serve (background)',
      [{ type: 'command', command: 'serve', cwd: '/project' }],
    ],
    [
      'Monitor',
      { command: 'tail -f x' },
      'bash',
      'tail -f x',
      [{ type: 'command', command: 'tail -f x', cwd: '/project' }],
    ],
    [
      'Read',
      { file_path: '/project/a.ts', offset: 10, limit: 5 },
      'read',
      'read a.ts:10-14',
      [{ type: 'read', path: '/project/a.ts' }],
    ],
    [
      'Read',
      { file_path: '~/.ssh/id_rsa' },
      'read',
      'read /home/user/.ssh/id_rsa',
      [{ type: 'read', path: '/home/user/.ssh/id_rsa' }],
    ],
    ['Read', { file_path: '../x' }, 'read', 'read /x', [{ type: 'read', path: '/x' }]],
    [
      'NotebookEdit',
      { notebook_path: '/project/n.ipynb' },
      'edit',
      'edit n.ipynb',
      [
        { type: 'read', path: '/project/n.ipynb' },
        { type: 'write', path: '/project/n.ipynb' },
      ],
    ],
    ['Glob', { pattern: '**/*.ts' }, 'find', 'find **/*.ts', [{ type: 'read', path: '/project' }]],
    [
      'Glob',
      { pattern: '/etc/*.conf' },
      'find',
      'find /etc/*.conf',
      [
        { type: 'read', path: '/project' },
        { type: 'read', path: '/etc' },
      ],
    ],
    [
      'Glob',
      { pattern: '../../etc/*' },
      'find',
      'find ../../etc/*',
      [
        { type: 'read', path: '/project' },
        { type: 'read', path: '/etc' },
      ],
    ],
    [
      'Grep',
      { pattern: 'x', path: '/etc', glob: '*.conf' },
      'grep',
      'grep x in /etc (*.conf)',
      [{ type: 'read', path: '/etc' }],
    ],
    [
      'WebFetch',
      { url: 'https://Example.com/a' },
      'web_fetch',
      'fetch https://Example.com/a',
      [{ type: 'web', host: 'example.com' }],
    ],
    [
      'WebSearch',
      { query: 'q' },
      'web_search',
      'search the web for q',
      [{ type: 'web', host: 'api.anthropic.com' }],
    ],
    [
      'Agent',
      { description: 'Do', subagent_type: 'Explore' },
      undefined,
      'agent Explore: Do',
      [{ type: 'read', path: '/project' }],
    ],
    ['TodoWrite', { todos: [{}] }, 'todo', 'todo: 1 step', [{ type: 'read', path: '/project' }]],
    [
      'CronCreate',
      { cron: '* * * * *', prompt: 'x' },
      undefined,
      'CronCreate x',
      [{ type: 'foreign', readOnly: false }],
    ],
    [
      'mcp__server__tool',
      { query: 'x' },
      undefined,
      'mcp__server__tool x',
      [{ type: 'foreign', readOnly: false }],
    ],
    ['constructor', {}, undefined, 'constructor', [{ type: 'foreign', readOnly: false }]],
  ] as const)('%s %j is %s: %s', (name, input, tool, title, access) => {
    expect(call(name, input)).toMatchObject({ name, title, access, ...(tool !== undefined && { tool }) });
    expect(call(name, input).access).toHaveLength(access.length);
  });

  it('has the content after a write or an edit', () => {
    const after = (name: string, input: object, before: string | undefined) => {
      const write = call(name, input).access.find(({ type }) => type === 'write');
      return write?.type === 'write' ? write.after?.(before) : 'no write';
    };
    expect(after('Write', { file_path: 'a', content: 'new' }, 'old')).toBe('new');
    expect(after('Edit', { file_path: 'a', old_string: 'o', new_string: 'n' }, 'old')).toBe('nld');
    expect(after('Edit', { file_path: 'a', old_string: 'x', new_string: 'n' }, 'old')).toBeUndefined();
    expect(after('Edit', { file_path: 'a', old_string: '', new_string: 'all' }, undefined)).toBe('all');
    expect(after('Edit', { file_path: 'a', old_string: 'o', new_string: 'x', replace_all: true }, 'oo')).toBe(
      'xx',
    );
  });

  it('names the file of a call as our tools do, and back', () => {
    const { arguments: text } = call('Edit', { file_path: '/project/a', old_string: 'x', new_string: 'y' });
    expect(JSON.parse(text)).toEqual({ path: '/project/a', old_string: 'x', new_string: 'y' });
    expect(inputFrom('Edit', text)).toEqual({ file_path: '/project/a', old_string: 'x', new_string: 'y' });
    expect(inputFrom('Bash', '{"command":"ls"}')).toEqual({ command: 'ls' });
    expect(inputFrom('Bash', 'no json')).toBeUndefined();
  });
});
