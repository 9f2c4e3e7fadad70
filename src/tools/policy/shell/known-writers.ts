import { basename } from 'node:path';
import { literal } from './known-command.ts';
import type { Word } from './lexer.ts';

/**
 * Returns the files that a well-known program would write, change or remove, according to its words. For
 * programs that need approval or that a rule allows: the written files may need approval of their own.
 */
export function writtenFiles(words: readonly Word[]): readonly Word[] {
  const [program, ...rest] = words;
  const name = basename(program?.text ?? '');
  const operands = rest.filter(({ text }) => !text.startsWith('-'));
  if (ALL.has(name)) return operands;
  if (LAST.has(name)) return destinations(operands, rest, name === 'mv');
  if (name === 'dd')
    return rest.flatMap(({ text }) => (text.startsWith('of=') ? [literal(text.slice(3))] : []));
  if (IN_PLACE.has(name)) return rest.some(isInPlace) ? operands : [];
  if (name === 'git') return gitConfiguration(operands);
  return outputFlags(rest);
}

const ALL = new Set(
  'tee touch truncate rm rmdir unlink shred chmod chown mkdir mkfifo mknod patch ed ex vi vim nano'.split(
    ' ',
  ),
);
const LAST = new Set('cp mv ln install rsync scp'.split(' '));
const IN_PLACE = new Set('sed gsed perl ruby'.split(' '));

function isInPlace({ text }: Word): boolean {
  return /^-[a-zA-Z]*i/.test(text) || text.startsWith('--in-place');
}

/** Returns the last operand; if it is a directory, the files of the same names in it. */
function destinations(operands: readonly Word[], words: readonly Word[], removes: boolean): readonly Word[] {
  const flag = words.findIndex(({ text }) => text === '-t' || text.startsWith('--target-directory'));
  const stated = words[flag]?.text.split('=')[1] ?? (flag === -1 ? undefined : words[flag + 1]?.text);
  const target = stated ?? operands.at(-1)?.text;
  if (target === undefined) return [];
  const sources = stated === undefined ? operands.slice(0, -1) : operands;
  const below = sources.map(({ text }) => literal(`${target}/${basename(text)}`));
  return [literal(target), ...below, ...(removes ? sources : [])];
}

/** `git config key value`; author settings run nothing. */
function gitConfiguration(operands: readonly Word[]): readonly Word[] {
  const [verb, key, value] = operands.map(({ text }) => text);
  const isHarmless =
    key === undefined || value === undefined || /^(?:user|color|core\.autocrlf|init)\b/.test(key);
  return verb === 'config' && !isHarmless ? [literal('.git/config')] : [];
}

/** `curl -o file`, `wget -O file`, `sort --output=file`. */
function outputFlags(words: readonly Word[]): readonly Word[] {
  return words.flatMap(({ text }, index) => {
    if (/^(?:-o|-O|--output|--output-document|--outfile)$/.test(text)) return words[index + 1] ?? [];
    const [, attached] = /^(?:--output(?:-document)?=|--outfile=)(.+)$/s.exec(text) ?? [];
    return attached === undefined ? [] : [literal(attached)];
  });
}
