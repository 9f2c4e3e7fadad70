import { basename, normalize } from 'node:path';
import { looseWords } from './loose-words.ts';
import { type FilesBelow, type CommandReads, literal } from './known-command.ts';
import { writtenFiles } from './known-writers.ts';
import { readOnlyReading } from './read-only-commands.ts';
import type { Word } from './lexer.ts';
import { parseScript, type Redirection, type SimpleCommand } from './parser.ts';

/** One program of a command line and every file that its words may name, before any lookup. */
export interface Step {
  /** The words as the program gets them, without prefixes that only run it: `timeout 5 npm test` is `npm test`. */
  readonly words: readonly Word[];
  /** The same with those prefixes, for rules that name them. */
  readonly written: readonly Word[];
  /** The heredocs that it reads. */
  readonly bodies: readonly string[];
  /** Why no command rule covers it, whatever its words: they, or its environment, are not known before it runs. */
  readonly hazard: string | undefined;
  /** Why it is not known to only read. */
  readonly unknown: string | undefined;
  readonly named: readonly Named[];
  /** Directories in which it may run. */
  readonly directories: readonly string[];
  /**
   * Set if git only reads: where it would look for a repository, and whether it prints contents of tracked
   * files.
   */
  readonly git: { readonly directories: readonly string[]; readonly shows: 'contents' | 'names' } | undefined;
}

/** A file that a step names or may name. */
export interface Named {
  /** Mentioned: the program may do anything with it, or nothing. */
  readonly access: 'read' | 'write' | 'mention';
  /** Whether the shell opens it. */
  readonly byShell: boolean;
  /** Absolute and as written, with links and `..` unresolved. */
  readonly path: string;
  /** The positions of wildcards `*` and `?` in the path. */
  readonly wild: readonly number[];
  /** Whether the path's first wildcard may expand to a flag. */
  readonly mayBeFlag: boolean;
  /** Whether it is read recursively. */
  readonly below: FilesBelow;
  /** Whether some of its content may be printed. */
  readonly shown: boolean;
}

export type Steps = { readonly steps: readonly Step[] } | { readonly opaque: string };

/** Returns what a command line would run, as far as its text shows. */
export function scriptSteps(command: string, cwd: string): Steps {
  const script = parseScript(command);
  if ('opaque' in script) return script;
  const steps: Step[] = [];
  // Whether a `cd` succeeds is unknown before it runs, so everything after it may happen in either directory.
  const directories = [cwd];
  for (const simple of script.commands) {
    const reading = readOnlyReading(withoutPrefixes(simple.words));
    steps.push(toStep(simple, reading, directories));
    const entered = 'unknown' in reading ? undefined : reading.enters;
    if (entered === undefined) continue;
    // Bash resolves `..` by the path it came from, programs after it do not.
    const isUnknown = directories.length > 1 && entered.text.split('/').includes('..');
    const next = directories.flatMap((directory) => resolveDirectory(directory, entered.text));
    directories.push(...next.filter((directory) => !directories.includes(directory)));
    if (isUnknown || directories.length > MAX_DIRECTORIES)
      return { opaque: 'it changes the directory too often' };
  }
  return { steps };
}

const MAX_DIRECTORIES = 16;

/** With `..` after a link there are two results: by the text of the path, or by the link's target. */
function resolveDirectory(location: string, directory: string): readonly string[] {
  const segments = absolute(location, directory)
    .split('/')
    .filter((segment) => segment !== '.' && segment !== '');
  return [...new Set([`/${segments.join('/')}`, normalize(`/${segments.join('/')}`)])];
}

function toStep(
  simple: SimpleCommand,
  reading: CommandReads | { unknown: string },
  directories: readonly string[],
): Step {
  const words = withoutPrefixes(simple.words);
  const readOnly = 'unknown' in reading ? undefined : reading;
  const files = readOnly?.files ?? words.slice(1);
  const bodies = simple.redirections.flatMap(({ body }) => body ?? []);
  const inside = readOnly === undefined ? filesInCode(words, bodies) : [];
  const operands = [...files.flatMap(filesInWord), ...inside];
  const operandAccess = readOnly === undefined ? 'mention' : 'read';
  const below = readOnly?.below ?? false;
  const printsContent = readOnly?.namesOnly !== true && readOnly?.git?.shows !== 'names';
  const from = readOnly?.git?.from;
  const start = (location: string): string => (from === undefined ? location : absolute(location, from.text));
  const named = directories.flatMap((location) => [
    ...simple.redirections.flatMap(({ access, target }) =>
      access === 'neither' ? [] : [namedFile(location, target, { ...PLAIN, access, byShell: true })],
    ),
    ...operands.map((word) =>
      namedFile(start(location), word, { ...PLAIN, access: operandAccess, below, shown: printsContent }),
    ),
    ...(from === undefined ? [] : [namedFile(location, from, { ...PLAIN, access: 'read' })]),
    ...(readOnly === undefined ? writtenFiles(words) : []).map((word) =>
      namedFile(location, word, { ...PLAIN, access: 'write' }),
    ),
    // A program given by path is read; what it does is judged separately.
    ...(words[0]?.text.includes('/') === true
      ? [namedFile(location, words[0], { ...PLAIN, access: 'mention' })]
      : []),
  ]);
  return {
    words,
    written: simple.words,
    bodies,
    hazard: commandHazard(simple),
    unknown: 'unknown' in reading ? reading.unknown : undefined,
    named,
    directories: [...directories],
    git: readOnly?.git && { directories: directories.map(start), shows: readOnly.git.shows },
  };
}

const PLAIN = { byShell: false, below: false, shown: true } as const;

/** Programs that only run another one. With their own flags they are not understood, and stay. */
const PREFIXES: Readonly<Record<string, (next: Word) => 1 | 2 | undefined>> = {
  command: (next) => (next.text.startsWith('-') ? undefined : 1),
  nice: (next) => (next.text.startsWith('-') ? undefined : 1),
  timeout: (next) => (/^\d+(?:\.\d+)?[smhd]?$/.test(next.text) && next.vague === undefined ? 2 : undefined),
};

function withoutPrefixes(words: readonly Word[]): readonly Word[] {
  const [first, next] = words;
  if (first === undefined || next === undefined || first.vague !== undefined) return words;
  const length = Object.hasOwn(PREFIXES, first.text) ? PREFIXES[first.text]?.(next) : undefined;
  return length === undefined || words.length <= length ? words : withoutPrefixes(words.slice(length));
}

/** Variables that only change how a program prints, if their value is not a path. */
const HARMLESS = new Set('CI COLUMNS FORCE_COLOR LANG LC_ALL NO_COLOR TZ'.split(' '));

function commandHazard({ assignments, words, redirections }: SimpleCommand): string | undefined {
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

/** Bash opens a connection, not a file, for /dev/tcp. */
function isUnclear({ text, vague, wild }: Word): boolean {
  return vague !== undefined || wild.length > 0 || /^\/+dev\/+(?:tcp|udp)\//.test(text);
}

function isUnclearText({ access, target }: Redirection): boolean {
  return access === 'neither' && target.vague !== undefined;
}

type NamedHow = Pick<Named, 'access' | 'byShell' | 'below' | 'shown'>;

function namedFile(location: string, word: Word, how: NamedHow): Named {
  const path = absolute(location, word.text);
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

function absolute(location: string, text: string): string {
  return text.startsWith('/') ? text : `${location}/${text}`;
}

/** Programs that run the text they are given. */
const INTERPRETER =
  /^(?:(?:ba|da|z|k|fi|a)?sh|eval|python[\d.]*|ruby|perl|php|node|deno|bun|lua|osascript|ssh|su)$/;

/** Returns the files that the code given to an interpreter may name. */
function filesInCode(words: readonly Word[], bodies: readonly string[]): readonly Word[] {
  const start = words.findIndex(({ text }) => INTERPRETER.test(basename(text)));
  if (start === -1) return [];
  const texts = [...words.slice(start + 1).map(({ text }) => text), ...bodies];
  const names = texts.flatMap((text) => looseWords(text.slice(0, MAX_CODE)));
  return [...new Set(names)].slice(0, MAX_NAMES).map(literal);
}

const MAX_CODE = 20_000;
const MAX_NAMES = 500;

/**
 * Returns the files that a word may name: itself, and what follows the prefixes that programs put before a
 * path, as in `--file=x`, `-fx`, `HEAD:x`, `if=x`, `@x`.
 */
function filesInWord(word: Word): readonly Word[] {
  if (word.wild.length > 0) return [word];
  const { text } = word;
  const pieces = [text, ...text.split(/[=:,]/), text.startsWith('-') ? text.slice(2) : ''];
  const names = pieces.map((piece) => piece.replace(/^@/, '')).filter((piece) => piece !== '');
  return [...new Set(names)].filter((piece) => !piece.startsWith('-')).map(literal);
}
