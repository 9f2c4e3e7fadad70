import type { Unknown } from './flag-table.ts';
import type { CommandReads } from './known-command.ts';
import type { Word } from './lexer.ts';

/** The allowed expressions of find, and how many words follow. The others run, delete, write, or follow links. */
const PRIMARIES: ReadonlyMap<string, 0 | 1> = new Map([
  ...withoutOperand(
    '( ) ! , -a -and -o -or -not -true -false -empty -print -print0 -ls -prune -quit -depth -d -xdev -mount ' +
      '-daystart -readable -writable -executable -nouser -nogroup',
  ),
  ...oneWord(
    '-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -maxdepth -mindepth ' +
      '-size -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -perm -user -group -uid -gid -links ' +
      '-inum -printf -fstype',
  ),
]);

/**
 * find prints names, never contents: its starting points must be readable, and the names of secrets below them
 * may be shown.
 */
export function readFind(words: readonly Word[]): CommandReads | Unknown {
  const vague = words.find((word) => word.vague !== undefined);
  if (vague !== undefined) return { unknown: `${vague.text} is not known before it runs` };
  const start = words.findIndex(isExpression);
  const files = start === -1 ? [...words] : words.slice(0, start);
  const loose = files.find(({ wild }) => wild[0] === 0);
  if (loose !== undefined) return { unknown: `a file name may become a flag through ${loose.text}` };
  const expression = words.slice(files.length).values();
  for (const word of expression) {
    const arity = PRIMARIES.get(word.text);
    if (arity === undefined || word.wild.length > 0)
      return { unknown: `${word.text} is not known to only read` };
    if (arity === 0) continue;
    const { value } = expression.next();
    if (value === undefined || value.wild.length > 0)
      return { unknown: `what follows ${word.text} is not known before it runs` };
    files.push(value);
  }
  return { files, below: false, namesOnly: true };
}

function isExpression({ text }: Word): boolean {
  return text.startsWith('-') || text === '(' || text === '!' || text === ')' || text === ',';
}

function withoutOperand(names: string): readonly [string, 0][] {
  return names.split(' ').map((name) => [name, 0]);
}

function oneWord(names: string): readonly [string, 1][] {
  return names.split(' ').map((name) => [name, 1]);
}
