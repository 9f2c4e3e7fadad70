import { describe, expect, it } from 'vitest';
import { resolvePiPath, toAgentCall, toToolOutput } from '../../../src/backends/pi/calls.ts';
import { failureFrom } from '../../../src/backends/pi/failure.ts';

const PLACE = { cwd: '/project', home: '/home/user' };
const callOf = (name: string, input: Record<string, unknown>, isBuiltin = true) =>
  toAgentCall({ callId: 'c', name, input, isBuiltin }, PLACE);

describe('a path argument of pi', () => {
  it.each([
    ['a.txt', '/project/a.txt'],
    ['../b', '/b'],
    ['/etc/hosts', '/etc/hosts'],
    ['@a.txt', '/project/a.txt'],
    ['@/etc/hosts', '/etc/hosts'],
    ['~', '/home/user'],
    ['~/.ssh/id', '/home/user/.ssh/id'],
    ['@~/.ssh/id', '/home/user/.ssh/id'],
    ['~other/x', '/project/~other/x'],
    ['file:///etc/hosts', '/etc/hosts'],
    ['file:///etc/a%20b', '/etc/a b'],
    ['a\u00a0b', '/project/a b'],
  ])('%j is %s', (argument, path) => {
    expect(resolvePiPath(argument, PLACE)).toBe(path);
  });
});

describe('a call of pi', () => {
  it('has the title and the access of our own tool', () => {
    expect(callOf('bash', { command: 'npm  test\n', timeout: 5 })).toEqual({
      callId: 'c',
      name: 'bash',
      tool: 'bash',
      arguments: '{"command":"npm  test\\n","timeout":5}',
      title: 'npm test',
      access: [{ type: 'command', command: 'npm  test\n', cwd: '/project' }],
    });
    expect(callOf('read', { path: 'a.txt', offset: 3, limit: 2 })).toMatchObject({
      title: 'read a.txt:3-4',
      access: [{ type: 'read', path: '/project/a.txt' }],
    });
    expect(callOf('ls', {})).toMatchObject({ title: 'ls .', access: [{ type: 'read', path: '/project' }] });
    expect(callOf('find', { pattern: '*.ts', path: 'src' })).toMatchObject({
      title: 'find *.ts in src',
      access: [{ type: 'read', path: '/project/src' }],
    });
  });

  it('of grep needs approval, because it also searches hidden files', () => {
    expect(callOf('grep', { pattern: 'KEY', glob: '*.ts' })).toMatchObject({
      title: 'grep KEY (*.ts)',
      access: [
        { type: 'read', path: '/project' },
        { type: 'foreign', readOnly: true },
      ],
    });
  });

  it('of an unknown tool, or of one that an extension has replaced, is foreign', () => {
    const foreign = { access: [{ type: 'foreign', readOnly: false }] };
    expect(callOf('deploy', { to: 'production' })).toMatchObject({
      title: 'deploy {"to":"production"}',
      ...foreign,
    });
    expect(callOf('bash', { command: 'ls' }, false)).toMatchObject(foreign);
    expect(callOf('bash', {})).toMatchObject(foreign);
    expect(callOf('powershell', { command: 'ls' })).toMatchObject(foreign);
  });

  it('knows the content after an edit', () => {
    const after = (edits: unknown, before: string | undefined) => {
      const [, access] = callOf('edit', { path: 'a', edits }).access;
      return access?.type === 'write' ? access.after?.(before) : 'no write';
    };
    const edit = (oldText: string, newText: string) => ({ oldText, newText });
    expect(after([edit('b', 'B'), edit('a', 'A')], 'a\nb\n')).toBe('A\nB\n');
    expect(after([edit('a\nb', 'c')], 'a\r\nb\r\n')).toBe('c\r\n');
    // pi rejects these, or applies them to similar text.
    for (const edits of [
      [edit('x', 'y')],
      [edit('a', 'b')],
      [edit('', 'b')],
      [edit('ab', 'x'), edit('bc', 'y')],
    ])
      expect(after(edits, 'aabc\n')).toBeUndefined();
    expect(after([edit('a', 'b')], undefined)).toBeUndefined();
  });

  it('knows the content after a write', () => {
    const [access] = callOf('write', { path: 'a', content: 'new' }).access;
    expect(access?.type === 'write' && access.after?.('old')).toBe('new');
  });
});

describe('a result of pi', () => {
  const result = (text: string, details?: object) => ({ content: [{ type: 'text', text }], details });
  const shell = (text: string, isError: boolean, details?: object) =>
    toToolOutput(callOf('bash', { command: 'make' }), result(text, details), isError);

  it.each([
    ['done\n', false, 'make: done', { exitCode: 0, endedBy: 'itself', printedLength: 5 }],
    ['(no output)', false, 'make: done', { exitCode: 0, endedBy: 'itself', printedLength: 0 }],
    ['out\n\n\nCommand exited with code 2', true, 'make: exit code 2', { exitCode: 2, printedLength: 4 }],
    ['Command exited with code 2', true, 'make: exit code 2', { exitCode: 2, printedLength: 0 }],
    [
      'out\n\nCommand timed out after 5 seconds',
      true,
      'make: command timed out after 5 seconds',
      { endedBy: 'timeout' },
    ],
    ['Command aborted', true, 'make: command aborted', { exitCode: null, endedBy: 'cancel' }],
  ])('of a command, %j, has its exit code', (text, isError, summary, details) => {
    expect(shell(text, isError)).toMatchObject({ summary, isError, details });
  });

  it('of a command that did not run has no exit code', () => {
    expect(shell('not here', true)).toEqual({
      summary: 'not here',
      isError: true,
      content: [{ type: 'text', text: 'not here' }],
    });
  });

  it('of a command with a long output names the file', () => {
    const text = 'end\n\n[Showing lines 9-10 of 10. Full output: /tmp/full]';
    const details = { fullOutputPath: '/tmp/full', truncation: { totalBytes: 99_999 } };
    expect(shell(text, false, details).details).toMatchObject({
      printedLength: 3,
      outputFile: '/tmp/full',
      outputBytes: 99_999,
    });
  });

  it('keeps images and the use of models', () => {
    const output = toToolOutput(
      callOf('draw', {}),
      {
        content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }, { type: 'other' }],
        usage: { input: 10, output: 5, cacheRead: 3, cacheWrite: 2, cost: { total: 0.5 } },
      },
      false,
    );
    expect(output).toEqual({
      summary: 'draw {}: done',
      isError: false,
      content: [{ type: 'image', mediaType: 'image/png', data: 'AAAA' }],
      used: {
        inputTokens: 15,
        outputTokens: 5,
        cacheReadInputTokens: 3,
        cacheCreationInputTokens: 2,
        cost: 0.5,
      },
    });
  });
});

describe('an error message of pi', () => {
  it.each([
    [
      '529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
      'overloaded',
      'Overloaded',
    ],
    [
      '401 {"error":{"type":"authentication_error","message":"invalid x-api-key"}}',
      'auth',
      'invalid x-api-key',
    ],
    ['429 {"error":{"message":"slow down"}}', 'rate-limit', 'slow down'],
    [
      '400 {"error":{"message":"prompt is too long: 9 tokens"}}',
      'context-too-long',
      'prompt is too long: 9 tokens',
    ],
    ['Summarization failed: 400 {"error":{"message":"no"}}', 'invalid-request', 'Summarization failed: no'],
    ['503 down', 'server', 'down'],
    ['fetch failed', 'network', 'fetch failed'],
    ['terminated', 'cut-off', 'terminated'],
    ['odd', 'provider', 'odd'],
    ['', 'provider', 'pi reported an error without a message'],
  ])('%j is %s', (text, kind, message) => {
    expect(failureFrom(text)).toMatchObject({ kind, message });
  });
});
