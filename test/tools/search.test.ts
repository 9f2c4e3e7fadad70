import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, symlinkSync, writeFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PolypodError } from '../../src/base/index.ts';
import { find } from '../../src/tools/find.ts';
import { grep } from '../../src/tools/grep.ts';
import { LineMatcher } from '../../src/tools/search/line-matcher.ts';
import {
  type ToolFixture,
  addFiles,
  callTool,
  invalidText,
  toolFixture,
  temporaryDirectory,
  outputText,
} from './fixture.ts';

const hasRipgrep = installed('rg');
const ENGINES = hasRipgrep ? ['ripgrep', 'our own'] : ['our own'];

function installed(program: string): boolean {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function fixtureFor(engine: string, files: Readonly<Record<string, string | Uint8Array>>): ToolFixture {
  const env = engine === 'ripgrep' ? { PATH: process.env.PATH ?? '' } : { PATH: temporaryDirectory() };
  return toolFixture(files, { env });
}

test.runIf(hasRipgrep)('ripgrep is installed, so that both searches are compared', () => {
  expect(ENGINES).toHaveLength(2);
});

test.each([
  // A compiled program that rejects our options, like an old ripgrep.
  ['a ripgrep that is too old for our options', (rg: string) => copyFileSync('/bin/ls', rg)],
  ['a script in place of ripgrep', (rg: string) => writeFileSync(rg, '#!/bin/sh\necho ran > "$0.ran"\n')],
])('%s is not used', async (_, install) => {
  const bin = temporaryDirectory();
  install(`${bin}/rg`);
  chmodSync(`${bin}/rg`, 0o755);
  const fixture = toolFixture({ 'a.txt': 'foo\n' }, { env: { PATH: bin } });
  expect(outputText(await fixture.call(grep, { pattern: 'foo' }))).toBe('a.txt:1: foo');
  expect(outputText(await fixture.call(find, { pattern: '*' }))).toBe('a.txt');
  expect(existsSync(`${bin}/rg.ran`)).toBe(false);
});

describe.each(ENGINES)('grep by %s', (engine) => {
  const FILES = {
    'a.ts': 'import x\nconst foo = 1;\nexport { foo };\n',
    'src/b.ts': 'one\ntwo foo\nthree\nfour\nfive\nsix Foo\n',
    'src/b.js': 'foo\n',
    'a/z.ts': 'foo',
    'crlf.txt': 'foo\r\nbar\r\n',
    'binary.bin': Buffer.from('foo\0bar\n'),
    '.hidden/c.ts': 'foo\n',
    '.env': 'foo=1\n',
    'dist/d.ts': 'foo\n',
    'src/gen.ts': 'foo\n',
    '.gitignore': 'dist/\ngen.ts\n',
  };
  const search = async (input: object): Promise<string> =>
    outputText(await fixtureFor(engine, FILES).call(grep, input));

  test('shows the lines in the order of the paths', async () => {
    const output = await fixtureFor(engine, FILES).call(grep, { pattern: 'fo+\\b' });
    expect(output).toEqual({
      summary: 'grep fo+\\b: 6 matches in 5 files',
      content: [
        {
          type: 'text',
          text: 'a/z.ts:1: foo\na.ts:2: const foo = 1;\na.ts:3: export { foo };\ncrlf.txt:1: foo\nsrc/b.js:1: foo\nsrc/b.ts:2: two foo',
        },
      ],
      isError: false,
      details: { matches: 6, files: 5, more: false },
    });
  });

  test('searches below a path, and a file by its name', async () => {
    expect(await search({ pattern: 'foo', path: 'src' })).toBe('src/b.js:1: foo\nsrc/b.ts:2: two foo');
    expect(await search({ pattern: 'foo', path: './src/b.ts' })).toBe('./src/b.ts:2: two foo');
    expect(await search({ pattern: 'foo', path: '.hidden' })).toBe('.hidden/c.ts:1: foo');
    expect(await search({ pattern: 'foo', path: 'dist/d.ts' })).toBe('dist/d.ts:1: foo');
    expect(await search({ pattern: 'foo', path: 'binary.bin' })).toContain('No line matches');
  });

  test('accepts globs, which never include ignored files', async () => {
    expect(await search({ pattern: 'foo', glob: '*.ts' })).not.toMatch(/dist|gen|hidden|b\.js/);
    expect(await search({ pattern: 'foo', glob: 'src/*.{js,ts}' })).toBe(
      'src/b.js:1: foo\nsrc/b.ts:2: two foo',
    );
    expect(await search({ pattern: 'foo', glob: '!*.ts' })).toBe('crlf.txt:1: foo\nsrc/b.js:1: foo');
    expect(await search({ pattern: 'foo', glob: '.hidden/**' })).toBe('.hidden/c.ts:1: foo');
    expect(await search({ pattern: 'foo', glob: '.env' })).toBe('.env:1: foo=1');
  });

  test('ignores case on request, and searches literal text', async () => {
    expect(await search({ pattern: 'six FOO', ignoreCase: true })).toBe('src/b.ts:6: six Foo');
    expect(await search({ pattern: '(?i)six FOO' })).toBe('src/b.ts:6: six Foo');
    expect(await search({ pattern: '{ foo }', literal: true })).toBe('a.ts:3: export { foo };');
    expect(await search({ pattern: 'f.o', literal: true })).toContain('No line matches');
    expect(await search({ pattern: '-foo' })).toContain('No line matches');
  });

  test('matches line starts and ends, also before a carriage return', async () => {
    expect(await search({ pattern: '^foo$', glob: 'crlf.txt' })).toBe('crlf.txt:1: foo');
  });

  test('shows lines around the matches, each once', async () => {
    expect(await search({ pattern: 'two|five', path: 'src', context: 1 })).toBe(
      'src/b.ts-1- one\nsrc/b.ts:2: two foo\nsrc/b.ts-3- three\nsrc/b.ts-4- four\nsrc/b.ts:5: five\nsrc/b.ts-6- six Foo',
    );
    expect(await search({ pattern: 'one|six|^foo', path: 'src', context: 1 })).toBe(
      'src/b.js:1: foo\n--\nsrc/b.ts:1: one\nsrc/b.ts-2- two foo\n--\nsrc/b.ts-5- five\nsrc/b.ts:6: six Foo',
    );
  });

  test('stops at its limit with a note', async () => {
    const fixture = fixtureFor(engine, { 'a.txt': 'x\n'.repeat(5_000) });
    const output = await fixture.call(grep, { pattern: 'x', limit: 3 });
    expect(output.summary).toBe('grep x: first 3 matches in 1 file');
    expect(outputText(output)).toMatch(/^(?:a\.txt:\d: x\n){3}\[there are more: /);
    expect((await fixture.call(grep, { pattern: 'x' })).details).toMatchObject({ matches: 100, more: true });
  });

  test('truncates long lines and long results', async () => {
    const fixture = fixtureFor(engine, {
      'a.txt': `${'語'.repeat(5_000)}\n`,
      'b.txt': `${'b'.repeat(400)}\n`.repeat(900),
    });
    expect(outputText(await fixture.call(grep, { pattern: '語' }))).toBe(
      `a.txt:1: ${'語'.repeat(500)} … [line cut]`,
    );
    const output = await fixture.call(grep, { pattern: 'b', limit: 1_000 });
    expect(outputText(output).length).toBeLessThan(34_000);
    expect(output.details).toMatchObject({ more: true });
  });

  test('explains an invalid pattern', async () => {
    for (const pattern of ['foo(', '[a', '*a', 'a\nb']) {
      const output = await fixtureFor(engine, FILES).call(grep, { pattern });
      expect(output.isError).toBe(true);
      expect(outputText(output)).toMatch(/^The pattern is not a valid regular expression.*literal to true/s);
    }
  });

  test('omits files that may not be read, though their directory may', async () => {
    const fixture = fixtureFor(engine, FILES);
    const resolve: typeof fixture.context.resolve = async (path, access) => {
      if (path.endsWith('.env')) throw new PolypodError('denied', 'secrets');
      return await fixture.context.resolve(path, access);
    };
    const output = await callTool(
      grep,
      { pattern: 'foo', glob: '{.env,b.js}' },
      { ...fixture.context, resolve },
    );
    expect(outputText(output)).toBe('src/b.js:1: foo');
  });

  test('does not follow links', async () => {
    const outside = toolFixture({ 'secret.txt': 'foo\n' });
    const fixture = fixtureFor(engine, { 'a.txt': 'foo\n' });
    symlinkSync(outside.directory, fixture.path('link'));
    symlinkSync(outside.path('secret.txt'), fixture.path('link.txt'));
    expect(outputText(await fixture.call(grep, { pattern: 'foo' }))).toBe('a.txt:1: foo');
  });

  test('reports a missing path', async () => {
    expect(await search({ pattern: 'x', path: 'nowhere' })).toContain('nowhere does not exist');
  });

  test('ends soon after a cancel', async () => {
    const fixture = fixtureFor(engine, {});
    for (let index = 0; index < 1_000; index += 1)
      addFiles(fixture.directory, { [`d${index % 50}/${index}.txt`]: 'x\n' });
    const controller = new AbortController();
    const running = fixture.call(grep, { pattern: 'nothing' }, controller.signal);
    setTimeout(() => controller.abort(), 5);
    await running;
    expect(await fixture.call(grep, { pattern: 'x' }, AbortSignal.abort())).toMatchObject({ isError: true });
  });
});

describe('our own search', () => {
  test('stops an expression that backtracks endlessly, without blocking anything else', async () => {
    const fixture = fixtureFor('our own', { 'a.txt': `${'a'.repeat(40)}b\n` });
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), 50);
    const output = await fixture.call(grep, { pattern: '^(a+)+$' });
    clearInterval(timer);
    expect(output.isError).toBe(true);
    expect(outputText(output)).toContain('takes too long');
    expect(ticks).toBeGreaterThan(2);
  });

  test('can be cancelled during such an expression', async () => {
    const fixture = fixtureFor('our own', { 'a.txt': `${'a'.repeat(40)}b\n` });
    const output = await fixture.call(grep, { pattern: '^(a+)+$' }, AbortSignal.timeout(200));
    expect(output.summary).toBe('Cancelled before it was done.');
  });

  test('accepts meaningless escapes', async () => {
    const matcher = new LineMatcher({ pattern: 'a\\-\\"b\\"', literal: false, ignoreCase: false });
    expect(await matcher.match(['x\na-"b"\n', ''], new AbortController().signal)).toEqual([[1], []]);
    await matcher.close();
  });
});

describe.each(ENGINES)('find by %s', (engine) => {
  const FILES = {
    'a.ts': '',
    'b.md': '',
    'src/a.test.ts': '',
    'src/deep/c.ts': '',
    'node_modules/x/index.ts': '',
    '.github/ci.yml': '',
    '.git/config.ts': '',
    '.gitignore': 'node_modules\n',
    'with space/ü.ts': '',
  };
  const search = async (input: object): Promise<string[]> =>
    outputText(await fixtureFor(engine, FILES).call(find, input)).split('\n');

  test('lists files by name in order', async () => {
    const output = await fixtureFor(engine, FILES).call(find, { pattern: '*.ts' });
    expect(output).toEqual({
      summary: 'find *.ts: 4 files',
      content: [{ type: 'text', text: 'a.ts\nsrc/a.test.ts\nsrc/deep/c.ts\nwith space/ü.ts' }],
      isError: false,
      details: { files: 4, more: false },
    });
  });

  test('lists by path, below a path, and hidden ones by their name', async () => {
    expect(await search({ pattern: 'src/**/*.ts' })).toEqual(['src/a.test.ts', 'src/deep/c.ts']);
    expect(await search({ pattern: '?.ts' })).toEqual(['a.ts', 'src/deep/c.ts', 'with space/ü.ts']);
    expect(await search({ pattern: '*.ts', path: 'src' })).toEqual(['src/a.test.ts', 'src/deep/c.ts']);
    expect(await search({ pattern: '.github/**' })).toEqual(['.github/ci.yml']);
    expect(await search({ pattern: '*', path: '.github' })).toEqual(['.github/ci.yml']);
    expect(await search({ pattern: '**/.git*/**' })).toEqual(['.github/ci.yml']);
  });

  test('reports when there is nothing, and when there is more', async () => {
    expect(await search({ pattern: '*.rs' })).toEqual([
      'No file matches *.rs. Hidden and ignored files were not searched.',
    ]);
    expect(await search({ pattern: '*', limit: 2 })).toEqual([
      'a.ts',
      'b.md',
      '[there are more: narrow the pattern, name a directory, or raise limit (5000 at most)]',
    ]);
  });

  test('rejects a file with the right tool', async () => {
    expect(await search({ pattern: '*', path: 'a.ts' })).toEqual([
      'a.ts is a file. Use read to see its content, or name a directory.',
    ]);
  });
});

describe.runIf(hasRipgrep)('ripgrep and our own search agree', () => {
  const DIRECTORIES = ['', 'a/', 'src/', 'build/', '.h/', 'a/b/', 'src/a/', 'src/build/', 'a/b/src/', 'b/'];
  const NAMES = ['x.log', 'y.ts', 'z.md', '.dot', 'plain', 'a.b', 'Ä', 'B', 'é.ts'];
  const TREE = DIRECTORIES.flatMap((directory) => NAMES.map((name) => directory + name));
  const RULES =
    '*.log !x.log *.ts !/src/y.ts * !*/ !*.md [xy].* Ä #no *.b !.dot /build build/ !build/ b /b/ /a/b !/a/b/ a/** !a/b/** **/z.md /src/**/y.ts src/*.ts src/* !src/a a/b/src/plain **/a/*.log .h ?.md ? ?.ts [!x].ts';
  const rule = fc.constantFrom(...RULES.split(' '), 'plain ');
  const rules = fc.array(rule, { minLength: 1, maxLength: 6 }).map((lines) => lines.join('\n'));
  const tree = fc.record({
    ignores: fc.dictionary(fc.constantFrom('', 'a/', 'src/', 'src/a/', 'a/b/'), rules, {
      minKeys: 1,
      maxKeys: 3,
    }),
    exclude: fc.option(rules),
    nested: fc.constantFrom('none', 'src/', 'a/b/'),
    root: fc.constantFrom('.', 'src', 'a', 'a/b'),
    glob: fc.constantFrom(
      ...['*', '*', '*.ts', 'src/**', '**/a/**', '!*.log', '*.{log,md}', '.dot', 'a/*'],
      ...['?.ts', '[!y].ts', '**/{a,src}/?.*'],
    ),
  });

  test('on any tree, in names and in lines', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(tree, async ({ ignores, exclude, nested, root, glob }) => {
        const directory = temporaryDirectory();
        addFiles(directory, Object.fromEntries(TREE.map((path) => [path, `${path}\nhit\nlast\n`])));
        for (const [where, text] of Object.entries(ignores))
          addFiles(directory, { [`${where}.gitignore`]: text });
        if (exclude !== null) addFiles(directory, { '.git/info/exclude': exclude });
        if (nested !== 'none') addFiles(directory, { [`${nested}.git/info/exclude`]: exclude ?? '' });
        const answers = async (PATH: string): Promise<unknown[]> => {
          const context = {
            ...toolFixture().context,
            cwd: directory,
            env: { PATH },
            resolve: async (p: string) => p,
          };
          return [
            await callTool(find, { pattern: glob, path: root }, context),
            await callTool(grep, { pattern: 'hi.', glob, path: root, context: 1 }, context),
          ];
        };
        expect(await answers('/nowhere')).toEqual(await answers(process.env.PATH ?? ''));
      }),
      { numRuns: 40 },
    );
  });
});

test('a search reports its access, including a glob for hidden files', () => {
  expect(grep.prepare({ pattern: 'x', path: 'src', glob: '*.ts' }, '/w')).toMatchObject({
    access: [{ type: 'read', path: '/w/src' }],
    title: 'grep x in src (*.ts)',
  });
  expect(grep.prepare({ pattern: 'x', glob: '**/.env' }, '/w')).toMatchObject({
    access: [
      { type: 'read', path: '/w' },
      { type: 'read', path: '/w/**/.env' },
    ],
  });
  expect(find.prepare({ pattern: '*.ts' }, '/w')).toMatchObject({
    access: [{ type: 'read', path: '/w' }],
    title: 'find *.ts',
  });
  expect(invalidText(grep, { pattern: '' })).toContain('pattern: must not be empty');
});
