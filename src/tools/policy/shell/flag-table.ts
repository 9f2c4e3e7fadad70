import type { Word } from './lexer.ts';

/**
 * The flags of a program that only read. All others are unknown, and unknown is not read-only: other versions
 * and systems have flags that are not listed here.
 */
export interface FlagTable {
  /** Letters without a value: `-la`. */
  readonly flags?: string;
  /** Letters with a value: `-n5`, `-n 5`. */
  readonly valued?: string;
  /** `all` has no value, `lines=` requires one, `color=?` may have one after `=`. */
  readonly long?: string;
  /** Whether `-5` is a flag. */
  readonly digits?: boolean;
  /** No flag writes or runs anything, so a wildcard may expand to one. */
  readonly harmless?: boolean;
}

/** A command's words after its name, parsed. */
export interface Arguments {
  readonly operands: readonly Word[];
  /** The given flags by name, with their values. */
  readonly given: ReadonlyMap<string, readonly string[]>;
}

export interface Unknown {
  readonly unknown: string;
}

/** Separates flags from operands like GNU programs: flags may follow operands, until `--`. */
export function readArguments(table: FlagTable, words: readonly Word[]): Arguments | Unknown {
  const operands: Word[] = [];
  const flags = new Map<string, string[]>();
  const give = (flag: string, value: string | undefined) =>
    flags.set(flag, [...(flags.get(flag) ?? []), ...(value === undefined ? [] : [value])]);
  const end = words.findIndex(({ text }) => text === '--');
  const mixed = end === -1 ? words : words.slice(0, end);
  let isTaken = false;
  for (const [index, word] of mixed.entries()) {
    const isFlag = word.text.startsWith('-') && word.text !== '-';
    if (isTaken) {
      isTaken = false;
    } else if (isFlag) {
      const reading = readFlag(table, word, mixed[index + 1]);
      if ('unknown' in reading) return reading;
      for (const { flag, value } of reading.flags) give(flag, value);
      isTaken = reading.takesNext;
    } else if (word.wild[0] === 0 && table.harmless !== true) {
      return { unknown: `a file name may become a flag through ${word.text}` };
    } else operands.push(word);
  }
  return { operands: end === -1 ? operands : [...operands, ...words.slice(end + 1)], given: flags };
}

interface Reading {
  readonly flags: readonly { readonly flag: string; readonly value: string | undefined }[];
  readonly takesNext: boolean;
}

function readFlag(table: FlagTable, word: Word, next: Word | undefined): Reading | Unknown {
  if (word.text.startsWith('--')) return readLong(table, word, next);
  if (word.wild.length > 0) return unknownFlag(word);
  if (table.digits === true && /^-\d+$/.test(word.text)) return { flags: [], takesNext: false };
  return readShort(table, word, next);
}

function readLong(table: FlagTable, word: Word, next: Word | undefined): Reading | Unknown {
  const [, name = '', value] = /^--([^=]*)(?:=(.*))?$/s.exec(word.text) ?? [];
  const knownFlags = (table.long ?? '').split(' ');
  // Whatever a wildcard after the `=` expands to, it stays this flag.
  if ((word.wild[0] ?? Number.POSITIVE_INFINITY) < name.length + 3) return unknownFlag(word);
  const result = (found: string | undefined, takesNext: boolean): Reading => ({
    flags: [{ flag: name, value: found }],
    takesNext,
  });
  if (value !== undefined)
    return knownFlags.includes(`${name}=`) || knownFlags.includes(`${name}=?`)
      ? result(value, false)
      : unknownFlag(word);
  if (knownFlags.includes(name) || knownFlags.includes(`${name}=?`)) return result(undefined, false);
  if (!knownFlags.includes(`${name}=`) || !isValue(next)) return unknownFlag(word);
  return result(next.text, true);
}

function readShort(table: FlagTable, word: Word, next: Word | undefined): Reading | Unknown {
  const flags: { flag: string; value: string | undefined }[] = [];
  const letters = word.text.slice(1);
  for (const [index, flag] of letters.split('').entries()) {
    if (table.flags?.includes(flag) === true) flags.push({ flag, value: undefined });
    else if (table.valued?.includes(flag) !== true) return unknownFlag(word);
    else {
      const attached = letters.slice(index + 1);
      if (attached !== '') return { flags: [...flags, { flag, value: attached }], takesNext: false };
      if (!isValue(next)) return unknownFlag(word);
      return { flags: [...flags, { flag, value: next.text }], takesNext: true };
    }
  }
  return { flags, takesNext: false };
}

/** A value that looks like a flag may be one, depending on the program. */
function isValue(word: Word | undefined): word is Word {
  return word !== undefined && word.wild.length === 0 && !word.text.startsWith('-');
}

function unknownFlag(word: Word): Unknown {
  return { unknown: `${word.text} is not known to only read` };
}
