import { basename, normalize } from 'node:path';
import { looseWords } from './loose-words.ts';
import { type Below, type Reading, literal } from './known-command.ts';
import { writtenBy } from './known-writers.ts';
import { readOnlyReading } from './read-only-commands.ts';
import type { Word } from './lexer.ts';
import { parseScript, type Redirection, type SimpleCommand } from './parser.ts';

/** One program of a command line and every file that its words may name. Nothing was looked at yet. */
export interface Step {
  /** The words as the program gets them, without prefixes that only run it: `timeout 5 npm test` is `npm test`. */
  readonly words: readonly Word[];
  /** The same with those prefixes, for rules that name them. */
  readonly written: readonly Word[];
  /** What heredocs feed it. */
  readonly bodies: readonly string[];
  /** Why no rule for a command covers it, whatever its words: they, or its surroundings, are not known before it runs. */
  readonly hazard: string | undefined;
  /** Why it is not known to only read. */
  readonly unknown: string | undefined;
  readonly named: readonly Named[];
  /** Directories that it may run in. */
  readonly directories: readonly string[];
  /** Set when git only reads: where it would look for a repository, and whether it prints what is in tracked files. */
  readonly git: { readonly directories: readonly string[]; readonly shows: 'contents' | 'names' } | undefined;
}

/** A file that a step names, or may. */
export interface Named {
  /** Mentioned: the program may do anything with it, or nothing. */
  readonly access: 'read' | 'write' | 'mention';
  /** Whether the shell opens it. */
  readonly byShell: boolean;
  /** Absolute and as it is written: links and `..` are in it still. */
  readonly path: string;
  /** Where in the path a `*` or `?` is a wildcard. */
  readonly wild: readonly number[];
  /** Whether the path's first wildcard may become a flag. */
  readonly mayBeFlag: boolean;
  /** Whether also what is below it is read. */
  readonly below: Below;
  /** Whether something of what is in it may be printed. */
  readonly shown: boolean;
}

export type Steps = { readonly steps: readonly Step[] } | { readonly opaque: string };

/** What a command line would run, as far as its text tells. */
export function stepsOf(command: string, cwd: string): Steps {
  const script = parseScript(command);
  if ('opaque' in script) return script;
  const steps: Step[] = [];
  // Whether a `cd` works is known when it runs, so everything after it may happen in either directory.
  const dataPaths = [cwd];
  for (const simple of script.commands) {
    const reading = readOnlyReading(unwrapped(simple.words));
    steps.push(stepOf(simple, reading, dataPaths));
    const entered = 'unknown' in reading ? undefined : reading.enters;
    if (entered === undefined) continue;
    // Bash leaves a directory by `..` the way that it came in, which programs after it do not.
    const isLost = dataPaths.length > 1 && entered.text.split('/').includes('..');
    const next = dataPaths.flatMap((place) => waysInto(place, entered.text));
    dataPaths.push(...next.filter((place) => !dataPaths.includes(place)));
    if (isLost || dataPaths.length > MOST_PLACES) return { opaque: 'it changes the directory too often' };
  }
  return { steps };
}

const MOST_PLACES = 16;

/** With a `..` behind a link there are two: by the text of the path, or by where the link leads. */
function waysInto(place: string, directory: string): readonly string[] {
  const segments = absolute(place, directory)
    .split('/')
    .filter((segment) => segment !== '.' && segment !== '');
  return [...new Set([`/${segments.join('/')}`, normalize(`/${segments.join('/')}`)])];
}

function stepOf(
  simple: SimpleCommand,
  reading: Reading | { unknown: string },
  dataPaths: readonly string[],
): Step {
  const words = unwrapped(simple.words);
  const known = 'unknown' in reading ? undefined : reading;
  const files = known?.files ?? words.slice(1);
  const bodies = simple.redirections.flatMap(({ body }) => body ?? []);
  const inside = known === undefined ? namesInCode(words, bodies) : [];
  const operands = [...files.flatMap(namesIn), ...inside];
  const operandAccess = known === undefined ? 'mention' : 'read';
  const below = known?.below ?? false;
  const shown = known?.namesOnly !== true && known?.git?.shows !== 'names';
  const from = known?.git?.from;
  const start = (place: string): string => (from === undefined ? place : absolute(place, from.text));
  const named = dataPaths.flatMap((place) => [
    ...simple.redirections.flatMap(({ access, target }) =>
      access === 'neither' ? [] : [nameIn(place, target, { ...PLAIN, access, byShell: true })],
    ),
    ...operands.map((word) => nameIn(start(place), word, { ...PLAIN, access: operandAccess, below, shown })),
    ...(from === undefined ? [] : [nameIn(place, from, { ...PLAIN, access: 'read' })]),
    ...(known === undefined ? writtenBy(words) : []).map((word) =>
      nameIn(place, word, { ...PLAIN, access: 'write' }),
    ),
    // A program that is in a file is read, and what it does is another question.
    ...(words[0]?.text.includes('/') === true
      ? [nameIn(place, words[0], { ...PLAIN, access: 'mention' })]
      : []),
  ]);
  return {
    words,
    written: simple.words,
    bodies,
    hazard: hazardOf(simple),
    unknown: 'unknown' in reading ? reading.unknown : undefined,
    named,
    directories: [...dataPaths],
    git: known?.git && { directories: dataPaths.map(start), shows: known.git.shows },
  };
}

const PLAIN = { byShell: false, below: false, shown: true } as const;

/** Programs that only run another one. With flags of their own they are not understood, and stay. */
const PREFIXES: Readonly<Record<string, (next: Word) => 1 | 2 | undefined>> = {
  command: (next) => (next.text.startsWith('-') ? undefined : 1),
  nice: (next) => (next.text.startsWith('-') ? undefined : 1),
  timeout: (next) => (/^\d+(?:\.\d+)?[smhd]?$/.test(next.text) && next.vague === undefined ? 2 : undefined),
};

function unwrapped(words: readonly Word[]): readonly Word[] {
  const [first, next] = words;
  if (first === undefined || next === undefined || first.vague !== undefined) return words;
  const length = Object.hasOwn(PREFIXES, first.text) ? PREFIXES[first.text]?.(next) : undefined;
  return length === undefined || words.length <= length ? words : unwrapped(words.slice(length));
}

/** Variables that change how a program prints and nothing else, as long as their value is no path. */
const HARMLESS = new Set('CI COLUMNS FORCE_COLOR LANG LC_ALL NO_COLOR TZ'.split(' '));

function hazardOf({ assignments, words, redirections }: SimpleCommand): string | undefined {
  const vague = words.find((word) => word.vague === 'unknown');
  if (vague !== undefined) return `${vague.text} is not known before it runs`;
  const variable = assignments.find((word) => words.length === 0 || !isHarmless(word));
  if (variable !== undefined) return `it sets ${variable.text.split('=')[0] ?? ''}`;
  const target = redirections.find(({ access, target: word }) => access !== 'neither' && isUnclear(word));
  if (target !== undefined) return `where ${target.target.text} leads is not known before it runs`;
  const text = redirections.find(isUnclearText);
  return text === undefined ? undefined : `${text.target.text} is not known before it runs`;
}

function isHarmless({ text, vague, wild }: Word): boolean {
  const [, name = '', value = ''] = /^(\w+)=(.*)$/s.exec(text) ?? [];
  return vague === undefined && wild.length === 0 && HARMLESS.has(name) && /^[\w.@-]*$/.test(value);
}

/** Bash opens no file for /dev/tcp but a connection. */
function isUnclear({ text, vague, wild }: Word): boolean {
  return vague !== undefined || wild.length > 0 || /^\/+dev\/+(?:tcp|udp)\//.test(text);
}

function isUnclearText({ access, target }: Redirection): boolean {
  return access === 'neither' && target.vague !== undefined;
}

type NamedHow = Pick<Named, 'access' | 'byShell' | 'below' | 'shown'>;

function nameIn(place: string, word: Word, how: NamedHow): Named {
  const path = absolute(place, word.text);
  const shift = path.length - word.text.length;
  return {
    access: how.access,
    byShell: how.byShell,
    below: how.below,
    shown: how.shown,
    path,
    wild: word.wild.map((index) => index + shift),
    mayBeFlag: word.wild[0] === 0,
  };
}

function absolute(place: string, text: string): string {
  return text.startsWith('/') ? text : `${place}/${text}`;
}

/** Programs that run the text that they are given. */
const INTERPRETER =
  /^(?:(?:ba|da|z|k|fi|a)?sh|eval|python[\d.]*|ruby|perl|php|node|deno|bun|lua|osascript|ssh|su)$/;

/** The files that the text may name which an interpreter is given. */
function namesInCode(words: readonly Word[], bodies: readonly string[]): readonly Word[] {
  const start = words.findIndex(({ text }) => INTERPRETER.test(basename(text)));
  if (start === -1) return [];
  const texts = [...words.slice(start + 1).map(({ text }) => text), ...bodies];
  const names = texts.flatMap((text) => looseWords(text.slice(0, MOST_CODE)));
  return [...new Set(names)].slice(0, MOST_NAMES).map(literal);
}

const MOST_CODE = 20_000;
const MOST_NAMES = 500;

/**
 * The files that a word may name: itself, and what stands behind the signs that programs put before a path, as in
 * `--file=x`, `-fx`, `HEAD:x`, `if=x`, `@x`.
 */
function namesIn(word: Word): readonly Word[] {
  if (word.wild.length > 0) return [word];
  const { text } = word;
  const pieces = [text, ...text.split(/[=:,]/), text.startsWith('-') ? text.slice(2) : ''];
  const names = pieces.map((piece) => piece.replace(/^@/, '')).filter((piece) => piece !== '');
  return [...new Set(names)].filter((piece) => !piece.startsWith('-')).map(literal);
}
