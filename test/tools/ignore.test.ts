import { execFileSync, spawnSync } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isIgnored, rulesForDirectory } from '../../src/tools/search/ignore-rules.ts';
import { walk } from '../../src/tools/search/walk.ts';
import { addFiles, temporaryDirectory } from './fixture.ts';

const { signal } = new AbortController();

describe('a .gitignore', () => {
  test.each([
    ['*.log', 'deep/a.log', true],
    ['/a.log', 'deep/a.log', false],
    ['/a.log', 'a.log', true],
    ['build/', 'build', false],
    ['build/', 'build/', true],
    ['build/', 'deep/build/', true],
    ['src/gen', 'src/gen', true],
    ['src/gen', 'x/src/gen', false],
    ['**/gen/*.ts', 'x/gen/a.ts', true],
    ['gen/**', 'gen/', false],
    ['gen/**', 'gen/a/b', true],
    ['*.log\n!keep.log', 'keep.log', false],
    ['!keep.log\n*.log', 'keep.log', true],
    ['# a.log', '# a.log', false],
    ['\\# a', '# a', true],
    ['\\!a', '!a', true],
    ['a.log   ', 'a.log', true],
    ['a\\ ', 'a ', true],
    ['a.log\r\nb.log', 'b.log', true],
    ['\ufeffa.log', 'a.log', true],
    ['{a,b}', 'a', false],
    ['\n/\n', 'a', false],
    ['[[:digit:]].log', '7.log', true],
    ['A.log', 'a.log', false],
    ['?', 'é', false],
  ])('%j and %s: %s', async (text, path, ignored) => {
    const directory = temporaryDirectory();
    addFiles(directory, { '.gitignore': text });
    const rules = await rulesForDirectory(directory, (name) => name === '.gitignore', undefined, signal);
    expect(isIgnored(rules, `${directory}/${path.replace(/\/$/, '')}`, path.endsWith('/'))).toBe(ignored);
  });

  test('that is a link is not read, as in git', async () => {
    const directory = temporaryDirectory();
    addFiles(directory, { rules: 'a\n', a: '' });
    symlinkSync('rules', `${directory}/.gitignore`);
    expect(await listed(directory)).toEqual(['a', 'rules']);
  });
});

describe('the files that git does not ignore', () => {
  const NAMES = ['a', 'b', 'ab', 'A', 'a b', '[a]', 'a*', '#c', 'é', 'x.log', 'a\\b'];
  const DIRECTORIES = ['', 'a/', 'b/', 'a/b/', 'a/b/a/', 'a b/', '[a]/', 'é/a/', 'a*/b/'];
  const part = fc.constantFrom(
    ...['a', 'b', 'ab', '*', '**', '?', '/', '/', '[ab]', '[!a]', '[a-b]', '[[:alpha:]]', '.log', 'x', '\\a'],
    ...['\\*', '\\ ', ' ', '!', '#', '[', 'A', 'é', '**/', '/**', '\\'],
  );
  const rule = fc
    .tuple(fc.constantFrom('', '', '!'), fc.array(part, { minLength: 1, maxLength: 5 }))
    .map(([negation, parts]) => negation + parts.join(''))
    // After a literal prefix, git reads `a**/b` against its manual: as `a`, directories, `b`.
    .filter((text) => !/[^/!*]\*\*/.test(text));
  const rules = fc.array(rule, { minLength: 1, maxLength: 4 }).map((lines) => lines.join('\n'));
  const tree = fc.record({
    ignores: fc.dictionary(fc.constantFrom(...DIRECTORIES), rules, { minKeys: 1, maxKeys: 3 }),
    exclude: fc.option(rules),
  });

  test('are those that a search visits', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(tree, async ({ ignores, exclude }) => {
        const directory = temporaryDirectory();
        execFileSync('git', ['init', '-q', directory]);
        const files = DIRECTORIES.flatMap((where) => NAMES.map((name) => `${where}${name}.f`));
        addFiles(directory, Object.fromEntries(files.map((file) => [file, ''])));
        for (const [where, text] of Object.entries(ignores)) {
          addFiles(directory, { [`${where}.gitignore`]: text });
          files.push(`${where}.gitignore`);
        }
        if (exclude !== null) addFiles(directory, { '.git/info/exclude': exclude });
        const ignored = new Set(ignoredByGit(directory, files));
        expect((await listed(directory)).toSorted()).toEqual(
          files.filter((file) => !ignored.has(file)).toSorted(),
        );
      }),
      { numRuns: 40 },
    );
  });
});

test.each([
  ['many stars in a name', `${'*a'.repeat(200)}b`],
  ['many stars and classes', `${'*[ab]?'.repeat(100)}c`],
  ['many names of any depth', `a/${'**/a/'.repeat(30)}b`],
  ['repeated names of any depth', `a/${'**/'.repeat(300)}b`],
  ['two names of any depth', 'a/**/a/**/b'],
  ['a rule that is too long to compile', 'a*'.repeat(50_000)],
  ['a long class', `[${'a'.repeat(100_000)}]`],
  ['hundreds of such rules', '**/a/**/b\n'.repeat(300)],
])('a .gitignore with %s takes no exponential time', async (_, text) => {
  const directory = temporaryDirectory();
  addFiles(directory, {
    '.gitignore': `${text}\nignored\n`,
    [`${'a/'.repeat(150)}${'a'.repeat(250)}`]: '',
    ignored: '',
  });
  const files = await listed(directory);
  expect(files).toContain(`${'a/'.repeat(150)}${'a'.repeat(250)}`);
  expect(files).not.toContain('ignored');
});

test('a large directory with thousands of rules does not block the process', async () => {
  const directory = temporaryDirectory();
  const names = Array.from({ length: 1_000 }, (_, index) => `file-${index}`);
  addFiles(directory, Object.fromEntries(names.map((name) => [name, ''])));
  addFiles(directory, { '.gitignore': names.map((name) => `*${name}.log`).join('\n') });
  const files = walk(directory, { hidden: true }, signal);
  await files.next();
  // The directory has been read: from now on, there is only matching.
  let [ticks, count] = [0, 1];
  const timer = setInterval(() => (ticks += 1), 10);
  for await (const _ of files) count += 1;
  clearInterval(timer);
  expect(count).toBe(1_001);
  expect(ticks).toBeGreaterThan(2);
});

async function listed(directory: string): Promise<string[]> {
  const files: string[] = [];
  for await (const file of walk(directory, { hidden: true }, signal)) files.push(file);
  return files;
}

function ignoredByGit(directory: string, files: readonly string[]): readonly string[] {
  const env = {
    ...process.env,
    GIT_CONFIG_GLOBAL: '/dev/null',
    XDG_CONFIG_HOME: '/nowhere',
    HOME: '/nowhere',
  };
  const args = ['check-ignore', '-z', '--stdin', '--no-index'];
  const { stdout } = spawnSync('git', args, {
    cwd: directory,
    input: files.join('\0'),
    env,
    encoding: 'utf8',
  });
  return stdout.split('\0').filter((file) => file !== '');
}
