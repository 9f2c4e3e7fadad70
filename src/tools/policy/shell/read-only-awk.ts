import { readArguments, type Unknown } from './flag-table.ts';
import { literal, type CommandReads } from './known-command.ts';
import type { Word } from './lexer.ts';

/**
 * Returns what awk would read. Its programs can write, run commands and open connections, so only those count
 * as read-only that contain none of the operators and names for it, not even inside a string.
 */
export function readAwk(words: readonly Word[]): CommandReads | Unknown {
  const vague = words.find((word) => word.vague !== undefined);
  if (vague !== undefined) return { unknown: `${vague.text} is not known before it runs` };
  const args = readArguments({ valued: 'Fv' }, words);
  if ('unknown' in args) return args;
  const [program, ...files] = args.operands;
  if (program === undefined || program.wild.length > 0 || FORBIDDEN.test(program.text.replaceAll('||', '')))
    return { unknown: 'its program is not known to only read' };
  // A value may be a file through FILENAME or an undetected getline.
  const values = [...args.given.values()].flat().map(literal);
  return { files: [...files, ...values], below: false };
}

/**
 * Redirections, pipes, includes; functions that run, read or close; variables that contain the environment and
 * file names.
 */
const FORBIDDEN =
  /[>|@`]|\b(?:system|getline|close|fflush|function|func|ENVIRON|ARGV|ARGC|ARGIND|PROCINFO|SYMTAB|FUNCTAB|extension)\b/;
