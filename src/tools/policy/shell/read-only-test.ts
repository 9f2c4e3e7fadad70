import type { Unknown } from './flag-table.ts';
import type { CommandReads } from './known-command.ts';
import type { Word } from './lexer.ts';

/**
 * Excludes -v and -R, which evaluate a name and may run what is in its brackets, and -eq, which some shells
 * evaluate too.
 */
const OPERATORS = new Set(
  '-e -f -d -r -w -x -s -L -h -b -c -p -S -z -n = == != -nt -ot -ef ! ( ) -a'.split(' '),
);

export function readTest(words: readonly Word[]): CommandReads | Unknown {
  const unclear = words.find(({ vague, wild }) => vague !== undefined || wild.length > 0);
  if (unclear !== undefined) return { unknown: `${unclear.text} is not known before it runs` };
  const operator = words.find(({ text }) => /^-[A-Za-z]/.test(text) && !OPERATORS.has(text));
  if (operator !== undefined) return { unknown: `${operator.text} is not known to only read` };
  return { files: words.filter(({ text }) => !OPERATORS.has(text)), below: false, namesOnly: true };
}
