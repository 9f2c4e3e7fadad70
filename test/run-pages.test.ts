import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from './cli/polypod.ts';

/** What the script reports about a command or a block. */
interface Reported {
  readonly page: string;
  readonly line: number;
  readonly what: string;
  readonly status: 'run' | 'checked' | 'tested' | 'not run' | 'unavailable' | 'failed';
  readonly detail?: string;
}

describe('npm run docs:run', () => {
  it('runs every command and checks every block of the pages', { timeout: 600_000 }, async () => {
    const { code, reported } = await runPages();
    expect(reported.filter(({ status }) => status === 'failed')).toEqual([]);
    expect(code).toBe(0);
    const count = (wanted: Reported['status']) => reported.filter(({ status }) => status === wanted).length;
    expect(count('run')).toBeGreaterThan(40);
    expect(count('checked')).toBeGreaterThan(200);
    expect(count('tested')).toBeGreaterThan(50);
    // Programs that this machine does not have, such as nc.
    expect(count('unavailable')).toBeLessThan(10);
  });

  it('keeps variables, files and the daemon from block to block of a page', async () => {
    const { code, reported } = await runPages(
      ['```sh', 'name=ada', 'cd node_modules', 'polypod serve --detach', '```'],
      ['```sh', 'test "$name" = ada && test "${PWD##*/}" = node_modules', 'polypod status', '```'],
    );
    expect({ code, failed: reported.filter(({ status }) => status === 'failed') }).toEqual({
      code: 0,
      failed: [],
    });
  });

  it('runs a server in the foreground until its block ends', async () => {
    const { reported } = await runPages(
      ['```sh', 'polypod serve', 'polypod status', '```'],
      ['<!-- exit 3 `polypod status`: the server has ended -->', '```sh', 'polypod status', '```'],
    );
    expect(reported.map(({ status }) => status)).toEqual(['run', 'run', 'run']);
  });

  it('lists the blocks that are not run, with the reason', async () => {
    const page = pageWith(['<!-- not run: needs an account -->', '```sh', 'polypod ask hi', '```']);
    const { stdout } = await script('--list', '--page', page);
    expect(stdout).toContain(`${page}:2: not run: sh block: needs an account\n`);
    expect(stdout).toMatch(/0 run, .*1 not run, 0 unavailable, 0 failed\n$/);
  });

  it.each([
    [
      'a block that is neither run nor annotated',
      ['```text', 'hello', '```'],
      'add <!-- not run: REASON -->',
    ],
    ['an annotation without a reason', ['<!-- not run: -->', '```sh', 'true', '```'], 'has no reason'],
    ['an unknown annotation', ['<!-- skip -->', '```sh', 'true', '```'], 'unknown annotation "skip"'],
    [
      'an annotation of a command that is not in the block',
      ['<!-- exit 1 `false`: fails -->', '```sh', 'true', '```'],
      'no command of the block starts with "false"',
    ],
    [
      'a command that fails',
      ['```sh', 'polypod attach nowhere < /dev/null', '```'],
      'exits with 2 instead of 0',
    ],
    [
      'a command that does not fail as annotated',
      ['<!-- exit 1 `true`: fails -->', '```sh', 'true', '```'],
      'exits with 0 instead of 1',
    ],
    [
      'an option in the text that does not exist',
      ['Use `polypod ls --recursive`.'],
      'has no option --recursive',
    ],
    [
      'a command in the text that does not exist',
      ['Use `polypod list`.'],
      'there is no command "polypod list"',
    ],
    [
      'an option in a block that is not run',
      ['<!-- not run: an example -->', '```sh', 'polypod ask --loud hi', '```'],
      'polypod ask has no option --loud',
    ],
    ['a script that does not exist', ['Run `npm run everything`.'], 'no script "everything"'],
    ['an unknown key of the configuration', ['```yaml', 'modle: x', '```'], 'modle'],
    ['invalid JSON', ['```json', '{ "a": }', '```'], 'not JSON'],
    ['a type error', ['```ts', "const name: number = 'ada';", 'console.log(name);', '```'], 'TS2322'],
    ['a marker without a test', ['<!-- transcript: any -->', '```jsonl', '{}', '```'], 'no test names'],
  ])('fails for %s', async (_title, lines, problem) => {
    const { code, reported } = await runPages(lines);
    expect(
      reported
        .filter(({ status }) => status === 'failed')
        .map(({ detail }) => detail)
        .join(),
    ).toContain(problem);
    expect(code).toBe(1);
  });
});

/** Runs the script for a page with these blocks, or for all pages. */
async function runPages(...blocks: readonly (readonly string[])[]) {
  const { code, stdout } = await script(
    '--json',
    ...(blocks.length === 0 ? [] : ['--page', pageWith(...blocks)]),
  );
  return { code, reported: JSON.parse(stdout) as readonly Reported[] };
}

function pageWith(...blocks: readonly (readonly string[])[]): string {
  const page = join(temporaryDirectory(), 'page.md');
  writeFileSync(page, `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`);
  return page;
}

function script(...args: readonly string[]): Promise<{ code: number | null; stdout: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      ['scripts/run-pages.mjs', ...args],
      { maxBuffer: 64 * 1024 * 1024 },
      (_error, stdout) => resolve({ code: child.exitCode, stdout }),
    );
  });
}
