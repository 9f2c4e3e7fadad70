import { basename } from 'node:path';
import { compileWildcards, type TextMatcher } from '../../base/index.ts';
import type { JudgedStep } from './judged-access.ts';
import type { Word } from './shell/lexer.ts';
import { looseWords } from './shell/loose-words.ts';
import { parseScript } from './shell/parser.ts';

/** Returns whether a program runs exactly as a pattern says; with `exact`, no more words may follow. */
export function matchesExactly(pattern: string, exact: boolean, { words, written }: JudgedStep): boolean {
  const expected = patternWords(pattern);
  return [words, written].some((candidate) => {
    const fits = exact ? candidate.length === expected.length : candidate.length >= expected.length;
    return (
      fits && expected.length > 0 && expected.every((word, index) => matchesPlainWord(word, candidate[index]))
    );
  });
}

function matchesPlainWord(expected: TextMatcher, word: Word | undefined): boolean {
  return word !== undefined && word.vague === undefined && word.wild.length === 0 && expected(word.text);
}

/**
 * Returns whether a program may be what a pattern says: also by its path, behind wrappers, or in the text given
 * to a shell.
 */
export function mayMatch(pattern: string, { written, bodies }: JudgedStep): boolean {
  return mayRun(patternWords(pattern), wordTexts(written), bodies, 0);
}

/** The same for a command line that cannot be parsed: the words anywhere in it. */
export function mayMatchText(pattern: string, text: string): boolean {
  return occurs(patternWords(pattern), looseWords(text));
}

/** A pattern is written like a command: quoted parts contain no wildcards. */
function patternWords(pattern: string): readonly TextMatcher[] {
  const script = parseScript(pattern);
  const [command, ...others] = 'opaque' in script ? [] : script.commands;
  if (command === undefined || others.length > 0 || command.words.some(({ vague }) => vague !== undefined))
    return pattern
      .split(/\s+/)
      .filter((word) => word !== '')
      .map((word) => compileWildcards(word, []));
  return command.words.map(({ text, wild }) => compileWildcards(text, wild));
}

/** Programs that run the words after them, from some position on. */
const WRAPPERS = new Set(
  (
    'builtin busybox chroot chrt command doas entr env exec fd fdfind find flock gosu ionice ltrace nice nohup npx ' +
    'parallel runuser script setarch setsid stdbuf strace sudo taskset time timeout toybox unshare watch xargs'
  ).split(' '),
);

/** Programs that run the text they are given. */
const INTERPRETERS = new Set('ash bash dash eval fish ksh sh ssh su trap zsh'.split(' '));

function mayRun(
  expected: readonly TextMatcher[],
  texts: readonly string[],
  bodies: readonly string[],
  depth: number,
): boolean {
  const isWrapped = WRAPPERS.has(basename(texts[0] ?? ''));
  if (isWrapped ? occurs(expected, texts) : begins(expected, texts, 0)) return true;
  const names = isWrapped ? texts : texts.slice(0, 1);
  const interpreter = names.findIndex((text) => INTERPRETERS.has(basename(text)));
  if (interpreter === -1) return false;
  const scriptArguments = texts.slice(interpreter + 1);
  return [...scriptArguments, scriptArguments.join(' '), ...bodies].some((script) =>
    mayRunIn(expected, script, depth + 1),
  );
}

function mayRunIn(expected: readonly TextMatcher[], text: string, depth: number): boolean {
  const script = depth > MAX_NESTED ? { opaque: 'nested too deeply' } : parseScript(text);
  // Denying too much is the lesser evil here.
  if ('opaque' in script) return occurs(expected, looseWords(text));
  return script.commands.some(({ words, redirections }) =>
    mayRun(
      expected,
      wordTexts(words),
      redirections.flatMap(({ body }) => body ?? []),
      depth,
    ),
  );
}

const MAX_NESTED = 4;

function occurs(expected: readonly TextMatcher[], texts: readonly string[]): boolean {
  return texts.some((_, index) => begins(expected, texts, index));
}

/** Returns whether the words from a position on match, skipping flags and their possible values. */
function begins(expected: readonly TextMatcher[], texts: readonly string[], start: number): boolean {
  const [program, ...others] = expected;
  const first = texts[start];
  if (program === undefined || first === undefined) return false;
  if (!program(first) && !program(basename(first))) return false;
  const isFlag = (index: number) => index > start && texts[index]?.startsWith('-') === true;
  let at = start;
  return others.every((word) => {
    at += 1;
    while (at < texts.length && !word(texts[at] ?? '') && (isFlag(at) || isFlag(at - 1))) at += 1;
    return word(texts[at] ?? '');
  });
}

function wordTexts(words: readonly Word[]): readonly string[] {
  return words.map(({ text }) => text);
}
