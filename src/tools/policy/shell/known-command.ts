import { type Arguments, type FlagTable, readArguments, type Unknown } from './flag-table.ts';
import type { Word } from './lexer.ts';

/** A program that only reads if called like this. */
export interface KnownCommand extends FlagTable {
  /**
   * The meaning of operands: files; at most one file, since a second would be written; a pattern, then files;
   * text that is never opened, flags included; or none.
   */
  readonly operands: 'files' | 'one-file' | 'pattern' | 'text' | 'none';
  /** Flags that give the pattern, so that all operands are files. */
  readonly patternFlags?: readonly string[];
  /** Whether it reads recursively: always, or with one of these flags. */
  readonly below?: 'always' | readonly string[];
  /** Whether it skips hidden files below a directory. */
  readonly skipsHidden?: (args: Arguments) => boolean;
  /** Set if it prints no file contents. */
  readonly namesOnly?: boolean;
  /** A final check for what a table cannot express. */
  readonly accepts?: (args: Arguments) => boolean;
}

/** What a read-only command would read. */
export interface CommandReads {
  /** Words that may name files. */
  readonly files: readonly Word[];
  /** Whether it also reads what is below them, hidden files or not. */
  readonly below: FilesBelow;
  /** Set if no file contents are printed. */
  readonly namesOnly?: boolean;
  /** Set if it changes the directory of the following commands. */
  readonly enters?: Word;
  /** Set if git looks for a repository. */
  readonly git?: GitReading;
}

export type FilesBelow = 'all' | 'visible' | false;

export interface GitReading {
  /** Whether it prints contents of tracked files that were not named. */
  readonly shows: 'contents' | 'names';
  /** The directory that it changes to before it starts. */
  readonly from: Word | undefined;
}

/** Parses a call of a known command; `words` are those after its name. */
export function readKnown(command: KnownCommand, words: readonly Word[]): CommandReads | Unknown {
  if (command.operands === 'text') return readText(command, words);
  const vague = words.find((word) => word.vague !== undefined);
  if (vague !== undefined) return { unknown: `${vague.text} is not known before it runs` };
  const args = readArguments(command, words);
  if ('unknown' in args) return args;
  if (!matchesOperands(command, args)) return { unknown: 'its arguments are not known to only read' };
  const isPattern = (flag: string) => command.patternFlags?.includes(flag) === true;
  const values = [...args.given].filter(([flag]) => !isPattern(flag)).flatMap(([, texts]) => texts);
  const hasPattern = command.operands === 'pattern' && ![...args.given.keys()].some(isPattern);
  const files = args.operands.slice(hasPattern ? 1 : 0);
  const isBelow = command.below === 'always' || command.below?.some((flag) => args.given.has(flag)) === true;
  const isVisible = command.skipsHidden?.(args) === true;
  const below = isBelow && (isVisible ? 'visible' : 'all');
  // Without a directory, the current one is read.
  const named = below !== false && files.length === 0 ? [literal('.')] : files;
  // Values are judged like files, which does no harm if they are not.
  return {
    files: [...named, ...values.map(literal)],
    below,
    ...(command.namesOnly === true ? { namesOnly: true } : {}),
  };
}

function readText(command: KnownCommand, words: readonly Word[]): CommandReads | Unknown {
  const vague = words.find((word) => word.vague === 'unknown');
  if (vague !== undefined) return { unknown: `${vague.text} is not known before it runs` };
  if (!matchesOperands(command, { operands: words, given: new Map() }))
    return { unknown: 'its arguments are not known to only read' };
  // A wildcard reveals which files exist.
  return { files: words.filter((word) => word.wild.length > 0), below: false };
}

function matchesOperands(command: KnownCommand, args: Arguments): boolean {
  const { operands } = args;
  if (command.operands === 'none' && operands.length > 0) return false;
  if (
    command.operands === 'one-file' &&
    (operands.length > 1 || operands.some(({ wild }) => wild.length > 0))
  )
    return false;
  // The pattern is the first operand after expansion, and a wildcard may expand to any number of words.
  if (command.operands === 'pattern' && (operands[0]?.wild.length ?? 0) > 0) return false;
  return command.accepts?.(args) ?? true;
}

export function literal(text: string): Word {
  return { text, wild: [], bare: 0, quoted: true, vague: undefined };
}
