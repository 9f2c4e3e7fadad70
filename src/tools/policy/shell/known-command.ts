import { type Arguments, type FlagTable, readArguments, type Unknown } from './flag-table.ts';
import type { Word } from './lexer.ts';

/** A program that only reads when it is called like this. */
export interface KnownCommand extends FlagTable {
  /**
   * What the words that are no flags mean: files; one file at most, since a second would be written; a pattern and then
   * files; text that is never opened, flags included; or nothing at all.
   */
  readonly operands: 'files' | 'one-file' | 'pattern' | 'text' | 'none';
  /** Flags that give the pattern, so that all operands are files. */
  readonly patternFlags?: readonly string[];
  /** Whether it reads what is below the directories that it is given: always, or with one of these flags. */
  readonly below?: 'always' | readonly string[];
  /** Whether it passes over hidden files below a directory. */
  readonly skipsHidden?: (args: Arguments) => boolean;
  /** Set when it prints nothing of what is in files. */
  readonly namesOnly?: boolean;
  /** A last look at what a table cannot say. */
  readonly accepts?: (args: Arguments) => boolean;
}

/** What a command that only reads would read. */
export interface Reading {
  /** Words that may name files. */
  readonly files: readonly Word[];
  /** Whether also what is below them is read, hidden files or not. */
  readonly below: Below;
  /** Set when nothing of what is in the files is printed. */
  readonly namesOnly?: boolean;
  /** Set when it changes the directory that the commands after it run in. */
  readonly enters?: Word;
  /** Set when git looks for a repository. */
  readonly git?: GitReading;
}

export type Below = 'all' | 'visible' | false;

export interface GitReading {
  /** Whether it prints what is in tracked files that nobody named. */
  readonly shows: 'contents' | 'names';
  /** The directory that it changes to before it starts. */
  readonly from: Word | undefined;
}

/** Reads a call of a known command; `words` are those behind its name. */
export function readKnown(known: KnownCommand, words: readonly Word[]): Reading | Unknown {
  if (known.operands === 'text') return readText(known, words);
  const vague = words.find((word) => word.vague !== undefined);
  if (vague !== undefined) return { unknown: `${vague.text} is not known before it runs` };
  const args = readArguments(known, words);
  if ('unknown' in args) return args;
  if (!fits(known, args)) return { unknown: 'its arguments are not known to only read' };
  const isPattern = (flag: string) => known.patternFlags?.includes(flag) === true;
  const values = [...args.given].filter(([flag]) => !isPattern(flag)).flatMap(([, texts]) => texts);
  const hasPattern = known.operands === 'pattern' && ![...args.given.keys()].some(isPattern);
  const files = args.operands.slice(hasPattern ? 1 : 0);
  const isBelow = known.below === 'always' || known.below?.some((flag) => args.given.has(flag)) === true;
  const isVisible = known.skipsHidden?.(args) === true;
  const below = isBelow && (isVisible ? 'visible' : 'all');
  // Without a directory the one that it runs in is meant.
  const named = below !== false && files.length === 0 ? [literal('.')] : files;
  // A value is judged like a file: most are none, and then nothing is lost.
  return {
    files: [...named, ...values.map(literal)],
    below,
    ...(known.namesOnly === true ? { namesOnly: true } : {}),
  };
}

function readText(known: KnownCommand, words: readonly Word[]): Reading | Unknown {
  const vague = words.find((word) => word.vague === 'unknown');
  if (vague !== undefined) return { unknown: `${vague.text} is not known before it runs` };
  if (!fits(known, { operands: words, given: new Map() }))
    return { unknown: 'its arguments are not known to only read' };
  // A wildcard tells which files there are.
  return { files: words.filter((word) => word.wild.length > 0), below: false };
}

function fits(known: KnownCommand, args: Arguments): boolean {
  const { operands } = args;
  if (known.operands === 'none' && operands.length > 0) return false;
  if (known.operands === 'one-file' && (operands.length > 1 || operands.some(({ wild }) => wild.length > 0)))
    return false;
  // The pattern is the first word that is left after wildcards have become as many as there are files.
  if (known.operands === 'pattern' && (operands[0]?.wild.length ?? 0) > 0) return false;
  return known.accepts?.(args) ?? true;
}

export function literal(text: string): Word {
  return { text, wild: [], bare: 0, quoted: true, vague: undefined };
}
