import {
  chmodSync,
  linkSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { describe, expect, test } from 'vitest';
import { write } from '../../src/tools/write.ts';
import { callTool, stageWith, outputText } from './fixture.ts';

describe('a write', () => {
  test('creates a file with its parent directories', async () => {
    const stage = stageWith();
    const output = await stage.call(write, { path: 'src/deep/a.ts', content: 'one\ntwo\n' });
    expect(output).toEqual({
      summary: 'Created src/deep/a.ts (2 lines)',
      content: [{ type: 'text', text: 'Created src/deep/a.ts (2 lines).' }],
      isError: false,
      details: {
        created: true,
        diff: '--- /dev/null\n+++ b/src/deep/a.ts\n@@ -0,0 +1,2 @@\n+one\n+two\n',
        added: 2,
        removed: 0,
      },
    });
    expect(stage.text('src/deep/a.ts')).toBe('one\ntwo\n');
  });

  test('replaces a whole file and keeps its mode', async () => {
    const stage = stageWith({ 'run.sh': 'echo old\nexit\n' });
    chmodSync(stage.path('run.sh'), 0o750);
    const output = await stage.call(write, { path: 'run.sh', content: 'echo new\nexit\n' });
    expect(output.summary).toBe('Updated run.sh (2 lines, +1 -1)');
    expect(output.details?.diff).toBe(
      '--- a/run.sh\n+++ b/run.sh\n@@ -1,2 +1,2 @@\n-echo old\n+echo new\n exit\n',
    );
    expect(stage.text('run.sh')).toBe('echo new\nexit\n');
    expect(statSync(stage.path('run.sh')).mode & 0o7777).toBe(0o750);
  });

  test('is atomic: open handles keep the old file', async () => {
    const stage = stageWith({ 'a.txt': 'old' });
    linkSync(stage.path('a.txt'), stage.path('b.txt'));
    await stage.call(write, { path: 'a.txt', content: 'new' });
    expect([stage.text('a.txt'), stage.text('b.txt')]).toEqual(['new', 'old']);
    expect(readdirSync(stage.directory)).toEqual(['a.txt', 'b.txt']);
  });

  test('of the same content writes nothing', async () => {
    const stage = stageWith({ 'a.txt': 'same' });
    const before = statSync(stage.path('a.txt'));
    const output = await stage.call(write, { path: 'a.txt', content: 'same' });
    expect(outputText(output)).toBe('a.txt already has exactly this content; nothing was written.');
    expect(statSync(stage.path('a.txt')).ino).toBe(before.ino);
  });

  test('replaces a binary file without a diff', async () => {
    const output = await stageWith({ 'a.bin': Buffer.from([0, 1]) }).call(write, {
      path: 'a.bin',
      content: 'x',
    });
    expect(output).toMatchObject({
      isError: false,
      summary: 'Updated a.bin (1 line)',
      details: { created: false },
    });
    expect(output.details).not.toHaveProperty('diff');
  });

  test('through a link replaces its target, and the link stays', async () => {
    const stage = stageWith({ 'real.txt': 'old' });
    symlinkSync('real.txt', stage.path('link.txt'));
    await stage.call(write, { path: 'link.txt', content: 'new' });
    expect(stage.text('real.txt')).toBe('new');
    expect(readlinkSync(stage.path('link.txt'))).toBe('real.txt');
  });

  test('limits the diff for display', async () => {
    const content = 'a line of text\n'.repeat(20_000);
    const { details } = await stageWith().call(write, { path: 'long.txt', content });
    expect(details).toMatchObject({ diffCut: true, added: 20_000 });
    expect(String(details?.diff).length).toBeLessThanOrEqual(100_000);
    expect(String(details?.diff)).toMatch(/\n$/);
  });
});

describe('a write is rejected with the next step', () => {
  test('on a directory', async () => {
    const output = await stageWith({ 'src/': '' }).call(write, { path: 'src', content: 'x' });
    expect(output).toMatchObject({ isError: true, summary: 'src is a directory. Name a file in it.' });
  });

  test('below a file', async () => {
    const output = await stageWith({ 'a.txt': '' }).call(write, { path: 'a.txt/b.txt', content: 'x' });
    expect(output).toMatchObject({ isError: true });
    expect(outputText(output)).toContain('is a file, not a directory');
  });

  test('outside the allowed directory, and nothing is created there', async () => {
    const outside = stageWith();
    const stage = stageWith();
    symlinkSync(outside.directory, stage.path('link'));
    for (const path of [`${outside.directory}/a`, 'link/a', 'link/deep/a', '../a']) {
      expect((await stage.call(write, { path, content: 'x' })).isError).toBe(true);
    }
    expect(readdirSync(outside.directory)).toEqual([]);
  });

  test('before it starts if it is cancelled', async () => {
    const stage = stageWith();
    expect((await stage.call(write, { path: 'a/b', content: '' }, AbortSignal.abort())).isError).toBe(true);
    expect(readdirSync(stage.directory)).toEqual([]);
  });

  test.skipIf(process.getuid?.() === 0)('on a write-protected file', async () => {
    const stage = stageWith({ 'a.txt': 'old' });
    chmodSync(stage.path('a.txt'), 0o444);
    expect(outputText(await stage.call(write, { path: 'a.txt', content: 'new' }))).toContain('permissions');
    expect(stage.text('a.txt')).toBe('old');
  });
});

describe('a link that replaced the path after the policy check', () => {
  test('for the file is not followed', async () => {
    const outside = stageWith({ 'a.txt': 'theirs' });
    const stage = stageWith({ 'a.txt': 'mine' });
    const around = {
      ...stage.around,
      resolve: async (path: string) => {
        if (path.endsWith('a.txt')) {
          rmSync(path, { force: true });
          symlinkSync(outside.path('a.txt'), path);
        }
        return path;
      },
    };
    expect((await callTool(write, { path: 'a.txt', content: 'new' }, around)).isError).toBe(true);
    expect(outside.text('a.txt')).toBe('theirs');
  });

  test
    .runIf(process.platform === 'linux')
    .each(['sub/a.txt', 'sub/new/a.txt', 'sub/there/a.txt', 'sub/there/new/a.txt'])(
    'for a directory of %s has no effect',
    async (path) => {
      const outside = stageWith({ 'there/': '' });
      const stage = stageWith({ 'sub/there/': '' });
      let swapped = false;
      const around = {
        ...stage.around,
        resolve: async (wanted: string, access: 'read' | 'write') => {
          const real = await stage.around.resolve(wanted, access);
          if (!swapped) {
            swapped = true;
            renameSync(stage.path('sub'), stage.path('was-sub'));
            symlinkSync(outside.directory, stage.path('sub'));
          }
          return real;
        },
      };
      expect((await callTool(write, { path, content: 'new' }, around)).isError).toBe(true);
      expect(readdirSync(outside.directory, { recursive: true })).toEqual(['there']);
    },
  );
});
