import { symlinkSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ls } from '../../src/tools/ls.ts';
import { makePipe, toolFixture, outputText } from './fixture.ts';

test('a directory is listed by name with sizes, directories and links', async () => {
  const fixture = toolFixture({
    'b.txt': 'x'.repeat(2_500),
    a: '',
    'src/x': '',
    '.env': 'K=1',
    'weird\nname': '',
  });
  symlinkSync('src/x', fixture.path('link'));
  makePipe(fixture.path('pipe'));
  expect(await fixture.call(ls, {})).toEqual({
    summary: '.: 7 entries',
    content: [
      {
        type: 'text',
        text: '.env  3 B\na  0 B\nb.txt  2.5 KB\nlink@ -> src/x\npipe  (not a regular file)\nsrc/\nweird name  0 B',
      },
    ],
    isError: false,
    details: { entries: 7, shown: 7 },
  });
});

test('a long list is truncated with a note', async () => {
  const fixture = toolFixture(
    Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`f${1_000 + index}`, ''])),
  );
  const lines = outputText(await fixture.call(ls, {})).split('\n');
  expect(lines).toHaveLength(501);
  expect(lines.at(-1)).toBe(
    '[the first 500 of 600 entries; raise limit (5000 at most), or use find with a pattern]',
  );
  expect(outputText(await fixture.call(ls, { limit: 1 }))).toMatch(
    /^f1000 {2}0 B\n\[the first 1 of 600 entries/,
  );
});

test('what cannot be listed is rejected with the next step', async () => {
  const fixture = toolFixture({ 'a.txt': '', 'empty/': '' });
  const text = async (path: string) => outputText(await fixture.call(ls, { path }));
  expect(await text('empty')).toBe('empty is an empty directory.');
  expect(await text('a.txt')).toBe('a.txt is a file. Use read to see its content.');
  expect(await text('none')).toContain('none does not exist');
  expect(await text('/')).toContain('is outside the directory');
  expect(await fixture.call(ls, {}, AbortSignal.abort())).toMatchObject({ isError: true });
});

test('a listing reports its access and its title', () => {
  expect(ls.prepare({}, '/w')).toMatchObject({ access: [{ type: 'read', path: '/w' }], title: 'ls .' });
});
