import { basename } from 'node:path';
import { escapeExpression } from './glob.ts';
import type { JudgedStep } from './judged.ts';
import type { Word } from './shell/lexer.ts';
import { looseWords } from './shell/loose-words.ts';
import { parseScript } from './shell/parser.ts';

/** Whether a program is run exactly as a pattern says; `exact` when no more words may follow. */
export function runs(pattern: string, exact: boolean, { words, written }: JudgedStep): boolean {
  const expected = wordsOf(pattern);
  return [words, written].some((candidate) => {
    const fits = exact ? candidate.length === expected.length : candidate.length >= expected.length;
    return fits && expected.length > 0 && expected.every((word, index) => isPlainly(word, candidate[index]));
  });
}

function isPlainly(expected: RegExp, word: Word | undefined): boolean {
  return word !== undefined && word.vague === undefined && word.wild.length === 0 && expected.test(word.text);
}

/** Whether a program may be what a pattern says: also by its path, behind wrappers, in the text that a shell is given. */
export function mayBeRun(pattern: string, { written, bodies }: JudgedStep): boolean {
  return mayRun(wordsOf(pattern), textsOf(written), bodies, 0);
}

/** The same for a command line that could not be read: the words anywhere in it. */
export function mayBeRunIn(pattern: string, text: string): boolean {
  return occurs(wordsOf(pattern), looseWords(text));
}

/** A pattern is written like a command: what is in quotes is no wildcard. */
function wordsOf(pattern: string): readonly RegExp[] {
  const script = parseScript(pattern);
  const [command, ...others] = 'opaque' in script ? [] : script.commands;
  if (command === undefined || others.length > 0 || command.words.some(({ vague }) => vague !== undefined))
    return pattern
      .split(/\s+/)
      .filter((word) => word !== '')
      .map((word) => new RegExp(`^${escapeExpression(word)}$`, 'u'));
  return command.words.map(expressionOf);
}

function expressionOf({ text, wild }: Word): RegExp {
  const parts = text.split('').map((char, index) => {
    if (!wild.includes(index)) return escapeExpression(char);
    return char === '*' ? '.*' : '.';
  });
  return new RegExp(`^${parts.join('')}$`, 's');
}

/** Programs that run the words behind them, from some place on. */
const WRAPPERS = new Set(
  (
    'builtin busybox chroot chrt command doas entr env exec fd fdfind find flock gosu ionice ltrace nice nohup npx ' +
    'parallel runuser script setarch setsid stdbuf strace sudo taskset time timeout toybox unshare watch xargs'
  ).split(' '),
);

/** Programs that run the text that they are given. */
const INTERPRETERS = new Set('ash bash dash eval fish ksh sh ssh su trap zsh'.split(' '));

function mayRun(
  expected: readonly RegExp[],
  texts: readonly string[],
  bodies: readonly string[],
  depth: number,
): boolean {
  const isWrapped = WRAPPERS.has(basename(texts[0] ?? ''));
  if (isWrapped ? occurs(expected, texts) : begins(expected, texts, 0)) return true;
  const names = isWrapped ? texts : texts.slice(0, 1);
  const interpreter = names.findIndex((text) => INTERPRETERS.has(basename(text)));
  if (interpreter === -1) return false;
  const given = texts.slice(interpreter + 1);
  return [...given, given.join(' '), ...bodies].some((script) => mayRunIn(expected, script, depth + 1));
}

function mayRunIn(expected: readonly RegExp[], text: string, depth: number): boolean {
  const script = depth > MOST_NESTED ? { opaque: 'nested too deeply' } : parseScript(text);
  // Here forbidding too much is the lesser evil.
  if ('opaque' in script) return occurs(expected, looseWords(text));
  return script.commands.some(({ words, redirections }) =>
    mayRun(
      expected,
      textsOf(words),
      redirections.flatMap(({ body }) => body ?? []),
      depth,
    ),
  );
}

const MOST_NESTED = 4;

function occurs(expected: readonly RegExp[], texts: readonly string[]): boolean {
  return texts.some((_, index) => begins(expected, texts, index));
}

/** Whether the words from a place on are what is expected, when flags and what may be their values are passed over. */
function begins(expected: readonly RegExp[], texts: readonly string[], start: number): boolean {
  const [program, ...others] = expected;
  const first = texts[start];
  if (program === undefined || first === undefined) return false;
  if (!program.test(first) && !program.test(basename(first))) return false;
  const isFlag = (index: number) => index > start && texts[index]?.startsWith('-') === true;
  let at = start;
  return others.every((word) => {
    at += 1;
    while (at < texts.length && !word.test(texts[at] ?? '') && (isFlag(at) || isFlag(at - 1))) at += 1;
    return word.test(texts[at] ?? '');
  });
}

function textsOf(words: readonly Word[]): readonly string[] {
  return words.map(({ text }) => text);
}
