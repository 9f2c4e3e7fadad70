import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { parseScript, type SimpleCommand } from '../../../src/tools/policy/shell/parser.ts';
import { runsOf } from './runs.ts';

const directory = mkdtempSync(join(tmpdir(), 'polypod-shell-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('parsing a command line', () => {
  it.each([
    ['ls -la', [['ls', '-la']]],
    ['a; b && c || d | e |& f & g', [['a'], ['b'], ['c'], ['d'], ['e'], ['f'], ['g']]],
    ['echo \'a b\' "c d" e\\ f', [['echo', 'a b', 'c d', 'e f']]],
    ["echo 'it'\\''s'", [['echo', "it's"]]],
    ['echo "a\\"b\\$c\\d"', [['echo', 'a"b$c\\d']]],
    ['a # b; c', [['a']]],
    ['a#b', [['a#b']]],
    ['(a; b) | c', [['a'], ['b'], ['c']]],
    ['a \\\n b', [['a', 'b']]],
    ['! a; time b', [['a'], ['b']]],
    ["a ''", [['a', '']]],
    ['a 2"">b', [['a', '2']]],
    ['a \\2>b 2>c 2 >d', [['a', '2', '2']]],
    ['', []],
    ['# only a comment', []],
  ])('%j is parsed', (text, expected) => {
    expect(textsOf(commandsOf(text))).toEqual(expected);
  });

  it.each([
    '$(a)',
    '`a`',
    'a "$(b)"',
    '${a}',
    'a <(b)',
    'a; }',
    '{ a; }',
    'if a; then b; fi',
    'a() { b; }',
    'a ((b))',
    'a ;; b',
    'a &&',
    '&& a',
    'a | | b',
    'a (b)',
    '(a',
    'a)',
    "a 'b",
    'a "b',
    'a \\',
    "$'a'",
    '$"a"',
    'a\\\nb',
    'a <<E\nb',
    'a <<E\n$b\nE',
    'a <<E\nb\\\nE',
    'a <<$E\nb\n$E',
    'a <<E$\n$(b)\nE$',
    'a >',
    'a > > b',
    'a <& b',
    "a >&'$(b)'",
    "a >&'*'",
    'a >&2-""',
    '!"" a',
    'a\rb',
    'a\u00a0b',
    'a \ud800',
  ])('%j is opaque', (text) => {
    expect(parseScript(text)).toHaveProperty('opaque');
  });

  it('distinguishes reading, writing and neither', () => {
    const [command] = commandsOf('a < r > w 2>> w2 2>&1 <> rw &> all >& both >&2 <<< text 3<&-');
    expect(command?.redirections.map(({ access, target }) => [access, target.text])).toEqual([
      ['read', 'r'],
      ['write', 'w'],
      ['write', 'w2'],
      ['neither', '1'],
      ['write', 'rw'],
      ['write', 'all'],
      ['write', 'both'],
      ['neither', '2'],
      ['neither', 'text'],
      ['neither', '-'],
    ]);
  });

  it('keeps the content of heredocs', () => {
    const [command] = commandsOf("a <<'X' <<-Y\none $x\nX\n\ttwo\n\tY\n");
    expect(command?.redirections.map(({ body }) => body)).toEqual(['one $x', 'two']);
  });

  it('detects what is not known before it runs', () => {
    const [command] = commandsOf('a $x "$y" $? ~ a=~ {b,c} [d] e* "f*" g? ~~ h~ {} {i} j[');
    expect(command?.words.map(({ vague, wild }) => vague ?? (wild.length > 0 ? 'wild' : 'plain'))).toEqual([
      'plain',
      'unknown',
      'unknown',
      'number',
      'unknown',
      'unknown',
      'unknown',
      'unknown',
      'wild',
      'plain',
      'wild',
      'unknown',
      'plain',
      'plain',
      'plain',
      'plain',
    ]);
  });
});

const PIECES = (
  `a¦b¦E¦ ¦ ¦ ¦\t¦\n¦'¦"¦\\¦#¦;¦&¦|¦<¦>¦(¦)¦!¦$¦=¦a ¦ b¦'a b'¦"a b"¦&&¦||¦|&¦>>¦>f¦> g¦2>h¦2>&1¦` +
  `&>i¦<f¦<<E\n¦\nE\n¦<<'E'\n¦<<-E\n¦\tE\n¦<<<¦>&2¦>|f¦\\\n¦ \\\n¦""¦''¦$?¦*¦{¦}¦,¦~¦-`
).split('¦');

describe('bash agrees', () => {
  const runs = runsOf(200);

  it('on the words of a command', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }), (pieces) => {
        const text = `printf '[%s]\\0' ${pieces.join('')}`;
        const [command, ...others] = commandsOf(text);
        if (
          command === undefined ||
          others.length > 0 ||
          !isPlain(command) ||
          command.redirections.length > 0
        )
          return;
        const words = command.words.slice(2).map((word) => word.text);
        const printed = (words.length === 0 ? [''] : words).map((word) => `[${word}]\0`).join('');
        const { stdout } = spawnSync('/bin/bash', ['-c', text], {
          cwd: directory,
          env: { PATH: '' },
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'ignore'],
        });
        expect(stdout, text).toBe(printed);
      }),
      { numRuns: runs },
    );
  });

  it('that it runs no command and writes no file that the parser did not see', () => {
    let read = 0;
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 25 }), (pieces) => {
        const text = pieces.join('');
        const script = parseScript(text);
        if ('opaque' in script || !script.commands.every(isPlain)) return;
        read += 1;
        const { ran, written } = whatBashDoes(text);
        const seen = script.commands.map(({ words }) => words.map((word) => word.text).join('\u0001'));
        const targets = script.commands.flatMap(({ redirections }) =>
          redirections.flatMap(({ access, target }) => (access === 'write' ? [target.text] : [])),
        );
        expect(seen, text).toEqual(expect.arrayContaining([...ran]));
        expect(targets, text).toEqual(expect.arrayContaining([...written]));
      }),
      { numRuns: runs * 2 },
    );
    expect(read).toBeGreaterThan(runs / 20);
  });
});

/**
 * Every command is missing, and bash reports which it looked for; files that it opens for them are created
 * before.
 */
function whatBashDoes(text: string): { ran: readonly string[]; written: readonly string[] } {
  const location = mkdtempSync(join(directory, 'run-'));
  const log = `${location}.log`;
  writeFileSync(log, '');
  const handler = `() { IFS=$'\\1'; printf '%s\\2' "$*" >> ${log}; }`;
  const env = { PATH: '/nowhere', 'BASH_FUNC_command_not_found_handle%%': handler };
  spawnSync('/bin/bash', ['-c', text], { cwd: location, env, timeout: 60_000, stdio: 'ignore' });
  // Background processes may still be writing.
  if (text.includes('&')) execFileSync('sleep', ['0.05']);
  const ran = readFileSync(log, 'utf8').split('\u0002').slice(0, -1);
  const written = readdirSync(location);
  rmSync(location, { recursive: true, maxRetries: 10 });
  return { ran, written };
}

function commandsOf(text: string): readonly SimpleCommand[] {
  const script = parseScript(text);
  return 'opaque' in script ? [] : script.commands;
}

function textsOf(commands: readonly SimpleCommand[]): readonly (readonly string[])[] {
  return commands.map(({ words }) => words.map(({ text }) => text));
}

function isPlain({ assignments, words, redirections }: SimpleCommand): boolean {
  const all = [...words, ...redirections.map(({ target }) => target)];
  return assignments.length === 0 && all.every(({ vague, wild }) => vague === undefined && wild.length === 0);
}
