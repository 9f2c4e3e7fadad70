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
import { callTool, toolFixture, outputText } from './fixture.ts';

describe('a write', () => {
  test('creates a file with its parent directories', async () => {
    const fixture = toolFixture();
    const output = await fixture.call(write, { path: 'src/deep/a.ts', content: 'one\ntwo\n' });
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
    expect(fixture.text('src/deep/a.ts')).toBe('one\ntwo\n');
  });

  test('replaces a whole file and keeps its mode', async () => {
    const fixture = toolFixture({ 'run.sh': 'echo old\nexit\n' });
    chmodSync(fixture.path('run.sh'), 0o750);
    const output = await fixture.call(write, { path: 'run.sh', content: 'echo new\nexit\n' });
    expect(output.summary).toBe('Updated run.sh (2 lines, +1 -1)');
    expect(output.details?.diff).toBe(
      '--- a/run.sh\n+++ b/run.sh\n@@ -1,2 +1,2 @@\n-echo old\n+echo new\n exit\n',
    );
    expect(fixture.text('run.sh')).toBe('echo new\nexit\n');
    expect(statSync(fixture.path('run.sh')).mode & 0o7777).toBe(0o750);
  });

  test('is atomic: open handles keep the old file', async () => {
    const fixture = toolFixture({ 'a.txt': 'old' });
    linkSync(fixture.path('a.txt'), fixture.path('b.txt'));
    await fixture.call(write, { path: 'a.txt', content: 'new' });
    expect([fixture.text('a.txt'), fixture.text('b.txt')]).toEqual(['new', 'old']);
    expect(readdirSync(fixture.directory)).toEqual(['a.txt', 'b.txt']);
  });

  test('of the same content writes nothing', async () => {
    const fixture = toolFixture({ 'a.txt': 'same' });
    const before = statSync(fixture.path('a.txt'));
    const output = await fixture.call(write, { path: 'a.txt', content: 'same' });
    expect(outputText(output)).toBe('a.txt already has exactly this content; nothing was written.');
    expect(statSync(fixture.path('a.txt')).ino).toBe(before.ino);
  });

  test('replaces a binary file without a diff', async () => {
    const output = await toolFixture({ 'a.bin': Buffer.from([0, 1]) }).call(write, {
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
    const fixture = toolFixture({ 'real.txt': 'old' });
    symlinkSync('real.txt', fixture.path('link.txt'));
    await fixture.call(write, { path: 'link.txt', content: 'new' });
    expect(fixture.text('real.txt')).toBe('new');
    expect(readlinkSync(fixture.path('link.txt'))).toBe('real.txt');
  });

  test('limits the diff for display', async () => {
    const content = 'a line of text\n'.repeat(20_000);
    const { details } = await toolFixture().call(write, { path: 'long.txt', content });
    expect(details).toMatchObject({ diffCut: true, added: 20_000 });
    expect(String(details?.diff).length).toBeLessThanOrEqual(100_000);
    expect(String(details?.diff)).toMatch(/\n$/);
  });
});

describe('a write is rejected with the next step', () => {
  test('on a directory', async () => {
    const output = await toolFixture({ 'src/': '' }).call(write, { path: 'src', content: 'x' });
    expect(output).toMatchObject({ isError: true, summary: 'src is a directory. Name a file in it.' });
  });

  test('below a file', async () => {
    const output = await toolFixture({ 'a.txt': '' }).call(write, { path: 'a.txt/b.txt', content: 'x' });
    expect(output).toMatchObject({ isError: true });
    expect(outputText(output)).toContain('is a file, not a directory');
  });

  test('outside the allowed directory, and nothing is created there', async () => {
    const outside = toolFixture();
    const fixture = toolFixture();
    symlinkSync(outside.directory, fixture.path('link'));
    for (const path of [`${outside.directory}/a`, 'link/a', 'link/deep/a', '../a']) {
      expect((await fixture.call(write, { path, content: 'x' })).isError).toBe(true);
    }
    expect(readdirSync(outside.directory)).toEqual([]);
  });

  test('before it starts if it is cancelled', async () => {
    const fixture = toolFixture();
    expect((await fixture.call(write, { path: 'a/b', content: '' }, AbortSignal.abort())).isError).toBe(true);
    expect(readdirSync(fixture.directory)).toEqual([]);
  });

  test.skipIf(process.getuid?.() === 0)('on a write-protected file', async () => {
    const fixture = toolFixture({ 'a.txt': 'old' });
    chmodSync(fixture.path('a.txt'), 0o444);
    expect(outputText(await fixture.call(write, { path: 'a.txt', content: 'new' }))).toContain('permissions');
    expect(fixture.text('a.txt')).toBe('old');
  });
});

describe('a link that replaced the path after the policy check', () => {
  test('for the file is not followed', async () => {
    const outside = toolFixture({ 'a.txt': 'theirs' });
    const fixture = toolFixture({ 'a.txt': 'mine' });
    const context = {
      ...fixture.context,
      resolve: async (path: string) => {
        if (path.endsWith('a.txt')) {
          rmSync(path, { force: true });
          symlinkSync(outside.path('a.txt'), path);
        }
        return path;
      },
    };
    expect((await callTool(write, { path: 'a.txt', content: 'new' }, context)).isError).toBe(true);
    expect(outside.text('a.txt')).toBe('theirs');
  });

  test
    .runIf(process.platform === 'linux')
    .each(['sub/a.txt', 'sub/new/a.txt', 'sub/there/a.txt', 'sub/there/new/a.txt'])(
    'for a directory of %s has no effect',
    async (path) => {
      const outside = toolFixture({ 'there/': '' });
      const fixture = toolFixture({ 'sub/there/': '' });
      let swapped = false;
      const context = {
        ...fixture.context,
        resolve: async (wanted: string, access: 'read' | 'write') => {
          const real = await fixture.context.resolve(wanted, access);
          if (!swapped) {
            swapped = true;
            renameSync(fixture.path('sub'), fixture.path('was-sub'));
            symlinkSync(outside.directory, fixture.path('sub'));
          }
          return real;
        },
      };
      expect((await callTool(write, { path, content: 'new' }, context)).isError).toBe(true);
      expect(readdirSync(outside.directory, { recursive: true })).toEqual(['there']);
    },
  );
});
