import { describe, expect, it } from 'vitest';
import { callEnd, callOf } from '../../../src/backends/codex/calls.ts';
import { scriptOf } from '../../../src/backends/codex/shell-words.ts';

describe('the script of a command line', () => {
  it.each([
    ["/bin/bash -lc 'touch a'", 'touch a'],
    ['/bin/bash -lc ls', 'ls'],
    ["bash -c 'a && b'", 'a && b'],
    ['/bin/zsh -lc "echo \'a b\'"', "echo 'a b'"],
    [String.raw`/bin/bash -lc "tr '\\n' ' ' < \"\$f\""`, String.raw`tr '\n' ' ' < "$f"`],
    ["/bin/bash -lc 'it'\\''s'", "it's"],
    ["/bin/sh -c 'first\nsecond'", 'first\nsecond'],
    ["/bin/bash -lc ''", ''],
  ])('is what the shell runs: %s', (line, script) => {
    expect(scriptOf(line)).toBe(script);
  });

  it.each([
    'touch a',
    "/bin/bash -lc 'touch a' extra",
    "/bin/bash -lc 'touch a'; rm -rf /",
    "/bin/bash -lc 'touch a",
    '/bin/bash -lc "$(touch a)"',
    '/bin/bash -lc "`touch a`"',
    "/bin/bash --rcfile x -c 'touch a'",
    "evil/bash -lc 'touch a'",
    "fish -c 'touch a'",
    "PATH=. bash -c 'touch a'",
    '',
  ])('is not taken out of anything else: %s', (line) => {
    expect(scriptOf(line)).toBe(line);
  });
});

describe('a change of a file', () => {
  const item = (...changes: object[]) => ({ type: 'fileChange', id: 'c', status: 'completed', changes });
  const update = {
    path: '/project/a.txt',
    kind: { type: 'update', move_path: null },
    diff: '@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n',
  };

  it('has the arguments of our own tool', () => {
    expect(callOf(item(update), '/project')).toMatchObject({
      tool: 'edit',
      arguments: JSON.stringify({ path: 'a.txt', edits: [{ old: 'one\ntwo\n', new: 'one\nTWO\n' }] }),
    });
  });

  it('outside the working directory is shown with its absolute path', () => {
    expect(callOf(item({ ...update, path: '/etc/a' }), '/project')).toMatchObject({ title: 'edit /etc/a' });
  });

  it('says what the file contains afterwards, unless it contains something else now', () => {
    const [, write] = callOf(item(update), '/project')?.access ?? [];
    if (write?.type !== 'write') throw new Error('not a write');
    expect(write.after?.('one\ntwo\n')).toBe('one\nTWO\n');
    expect(write.after?.('three\n')).toBeUndefined();
    expect(write.after?.(undefined)).toBeUndefined();
  });

  it('of several files names them all', () => {
    const changes = [
      update,
      { path: '/project/b', kind: { type: 'delete' }, diff: 'b\n' },
      {
        path: '/project/c',
        kind: { type: 'update', move_path: '/project/d' },
        diff: '@@ -1 +1 @@\n-x\n+y\n\n\nMoved to: /project/d',
      },
    ];
    const call = callOf(item(...changes), '/project');
    expect(call).toMatchObject({ title: 'edit a.txt, b and 1 more', tool: 'edit' });
    expect(
      call?.access.map((access) => ('path' in access ? `${access.type} ${access.path}` : access.type)),
    ).toEqual([
      'read /project/a.txt',
      'write /project/a.txt',
      'write /project/b',
      'read /project/c',
      'write /project/c',
      'write /project/d',
    ]);
    expect(callEnd(item(...changes), '/project').output.details).toMatchObject({
      diff: '--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n--- a/b\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-b\n--- a/c\n+++ b/d\n@@ -1 +1 @@\n-x\n+y\n',
      added: 2,
      removed: 3,
    });
  });

  it('that could not be applied has failed', () => {
    expect(callEnd({ ...item(update), status: 'failed' }, '/project')).toMatchObject({ status: 'failed' });
  });

  it('without changes is an unknown call', () => {
    expect(callOf(item(), '/project')?.access).toEqual([{ type: 'foreign', readOnly: false }]);
  });
});
