import type { Arguments, Unknown } from './flag-table.ts';
import { type KnownCommand, type CommandReads, readKnown } from './known-command.ts';
import { readAwk } from './read-only-awk.ts';
import { readFind } from './read-only-find.ts';
import { readGit } from './read-only-git.ts';
import { readTest } from './read-only-test.ts';
import type { Word } from './lexer.ts';

/** Returns what a command would read if it is known to only read; otherwise why it is not. */
export function readOnlyReading(words: readonly Word[]): CommandReads | Unknown {
  const [program, ...rest] = words;
  if (program === undefined) return { files: [], below: false };
  if (program.vague !== undefined || program.wild.length > 0)
    return { unknown: 'the name of its program is not known before it runs' };
  const isVersion = rest.length === 1 && rest[0]?.text === '--version' && rest[0].vague === undefined;
  if (isVersion && (VERSIONED.has(program.text) || KNOWN.has(program.text))) return NOTHING;
  const special = SPECIAL.get(program.text);
  if (special !== undefined) return special(rest);
  const reader = KNOWN.get(program.text);
  if (reader === undefined) return { unknown: 'it is not a known read-only command' };
  return readKnown(reader, rest);
}

const NOTHING: CommandReads = { files: [], below: false };

/**
 * Programs that only print their version. Not yarn, cargo or go, which project files may replace by another
 * program.
 */
const VERSIONED = new Set(
  'awk cc clang find g++ gcc git make node npm perl php python python3 ruby'.split(' '),
);

const text: KnownCommand = { operands: 'text' };
const nothing: KnownCommand = { operands: 'none' };
const sum: KnownCommand = { operands: 'files', flags: 'bt' };

const grep: KnownCommand = {
  operands: 'pattern',
  // -R follows links, -f and --exclude-from read files.
  flags: 'EFGPivwxcLlqsohHnbTUzaIr',
  valued: 'eABCm',
  long:
    'ignore-case invert-match word-regexp line-regexp count color=? colour=? files-without-match ' +
    'files-with-matches max-count= only-matching quiet silent no-messages byte-offset with-filename no-filename ' +
    'line-number text include= exclude= exclude-dir= recursive extended-regexp fixed-strings basic-regexp ' +
    'perl-regexp regexp= after-context= before-context= context= null',
  digits: true,
  harmless: true,
  patternFlags: ['e', 'regexp'],
  below: ['r', 'recursive'],
};

const start: KnownCommand = {
  operands: 'files',
  flags: 'qvz',
  valued: 'nc',
  long: 'lines= bytes= quiet silent verbose',
  digits: true,
  harmless: true,
};

/**
 * For GNU and BSD programs; flags with different meanings are excluded. So are programs with unusual flag
 * parsing that can write: `xxd -ps a b` has two files.
 */
const TABLE: Readonly<Record<string, KnownCommand>> = {
  ':': text,
  arch: nothing,
  base64: { operands: 'one-file', flags: 'd', valued: 'w', long: 'decode wrap=' },
  basename: text,
  b2sum: sum,
  cat: {
    operands: 'files',
    flags: 'AbeEnstTuv',
    long: 'number number-nonblank show-all show-ends show-tabs show-nonprinting squeeze-blank',
    harmless: true,
  },
  cksum: sum,
  cmp: { operands: 'files', flags: 'bls', valued: 'n', long: 'print-bytes silent quiet verbose' },
  column: { operands: 'files', flags: 'txn', valued: 'cs' },
  comm: { operands: 'files', flags: '123z', long: 'total output-delimiter=' },
  cut: {
    operands: 'files',
    flags: 'nsz',
    valued: 'bcdf',
    long: 'bytes= characters= delimiter= fields= complement only-delimited output-delimiter= zero-terminated',
    harmless: true,
  },
  // Operands without a `+` set the clock.
  date: {
    operands: 'text',
    accepts: ({ operands }) =>
      operands.every(({ text: word, wild }, index) => {
        const isDate = operands[index - 1]?.text === '-d';
        return (
          wild.length === 0 &&
          (isDate || /^(?:\+.*|-[uRI]|-d|--date=.*|--utc|--iso-8601(?:=\w+)?)$/s.test(word))
        );
      }),
  },
  df: { operands: 'files', namesOnly: true, flags: 'ahikHTPl', long: 'human-readable all inodes print-type' },
  // -l runs pr, -r follows links. With directories, it compares the files in them.
  diff: {
    operands: 'files',
    flags: 'aBbcdeEiNnpqstTuwyZ',
    valued: 'UCW',
    long:
      'unified=? context=? brief side-by-side width= color=? ignore-case ignore-all-space ignore-space-change ' +
      'ignore-blank-lines strip-trailing-cr suppress-common-lines report-identical-files text new-file minimal',
    digits: true,
    below: 'always',
  },
  dirname: text,
  du: {
    operands: 'files',
    namesOnly: true,
    flags: 'abchkmsSx0',
    valued: 'd',
    long: 'all apparent-size bytes human-readable summarize total max-depth= exclude= si',
  },
  echo: text,
  egrep: grep,
  exit: text,
  expr: text,
  false: text,
  fgrep: grep,
  // -C writes, -z runs programs, -f and -m read files.
  file: {
    operands: 'files',
    namesOnly: true,
    flags: 'bhik',
    long: 'brief mime mime-type mime-encoding keep-going',
  },
  fold: { operands: 'files', flags: 'bs', valued: 'w', long: 'bytes spaces width=' },
  grep,
  groups: text,
  head: start,
  hexdump: { operands: 'files', flags: 'bcCdovx', valued: 'ns' },
  // An operand would set the name.
  hostname: nothing,
  id: text,
  // Its programs can access the environment and modules.
  jq: {
    operands: 'pattern',
    flags: 'acCejMnrRsS',
    long:
      'ascii-output color-output compact-output exit-status indent= join-output monochrome-output null-input ' +
      'raw-input raw-output slurp sort-keys tab',
    accepts: ({ operands }) => !/env|import|include|modulemeta|\$__/i.test(operands[0]?.text ?? ''),
  },
  ls: {
    operands: 'files',
    namesOnly: true,
    // -L and -H follow links, and -R may then leave the directory.
    flags: 'aAbBcCdfFgGhiklmnNopqQrRsStuUvxX1',
    long:
      'all almost-all author color=? classify directory file-type format= full-time group-directories-first ' +
      'human-readable inode no-group numeric-uid-gid recursive reverse si size sort= time= time-style=',
    harmless: true,
  },
  md5sum: sum,
  nl: { operands: 'files', flags: 'p', valued: 'bdfhilnsvw', harmless: true },
  nproc: nothing,
  od: { operands: 'files', flags: 'abcdfilosvx', valued: 'AjNtw' },
  paste: { operands: 'files', flags: 'sz', valued: 'd', harmless: true },
  // %n sets a variable, and so does -v.
  printf: {
    operands: 'text',
    accepts: ({ operands: [format] }) =>
      format !== undefined &&
      format.wild.length === 0 &&
      !format.text.startsWith('-') &&
      !/%[^%A-Za-z]*[hlLjztq]*n/.test(format.text.replaceAll('%%', '')),
  },
  pwd: { operands: 'none', flags: 'LP' },
  readlink: { operands: 'files', namesOnly: true, flags: 'efmnqsvz' },
  realpath: { operands: 'files', namesOnly: true, flags: 'emLPqsz', long: 'relative-to= relative-base=' },
  rev: { operands: 'files' },
  rg: {
    operands: 'pattern',
    // -z runs programs, --pre and --hostname-bin too; -L follows links, -f reads a file.
    flags: '0aFHiIlcNnopPqsSUvwx',
    valued: 'ABCEegjmMrtT',
    long:
      'after-context= before-context= case-sensitive color= column context= count count-matches files ' +
      'files-with-matches files-without-match fixed-strings glob= heading hidden iglob= ignore-case invert-match ' +
      'json line-number line-regexp max-columns= max-count= max-depth= multiline multiline-dotall no-config ' +
      'no-filename no-heading no-ignore no-line-number no-messages null only-matching pcre2 pretty quiet regexp= ' +
      'replace= smart-case sort= sortr= stats text trim type= type-list type-not= vimgrep with-filename word-regexp',
    patternFlags: ['e', 'regexp', 'files', 'type-list'],
    below: 'always',
    skipsHidden: ({ given }) => !given.has('hidden') && !mayRevealHidden(given),
  },
  // Only line addresses: other commands of sed write and run.
  sed: {
    operands: 'pattern',
    flags: 'nEr',
    long: 'quiet silent regexp-extended',
    accepts: ({ operands: [script] }) => script !== undefined && SED.test(script.text),
  },
  seq: text,
  sha1sum: sum,
  sha256sum: sum,
  sha512sum: sum,
  shasum: { operands: 'files', flags: 'bt', valued: 'a' },
  sleep: text,
  // -o writes, --compress-program runs, --files0-from and -T are files.
  sort: {
    operands: 'files',
    flags: 'bcCdfghiMmnRrsuVz',
    valued: 'kt',
    long:
      'dictionary-order field-separator= general-numeric-sort human-numeric-sort ignore-case ' +
      'ignore-leading-blanks key= month-sort numeric-sort reverse stable unique version-sort',
  },
  stat: {
    operands: 'files',
    namesOnly: true,
    flags: 'Ltx',
    valued: 'c',
    long: 'dereference format= printf= terse',
    harmless: true,
  },
  strings: { operands: 'files', flags: 'a', valued: 'nt' },
  tac: { operands: 'files', harmless: true },
  tail: start,
  tr: text,
  // -o and -R write, -l follows links.
  tree: {
    operands: 'files',
    namesOnly: true,
    flags: 'aCdDfFghinpqQrstuv',
    valued: 'LIP',
    long: 'charset= dirsfirst filelimit= gitignore noreport prune',
  },
  true: text,
  type: text,
  uname: { operands: 'none', flags: 'aimnoprsv' },
  // A second operand is written.
  uniq: { operands: 'one-file', flags: 'cdDiuz', valued: 'fsw', long: 'count repeated unique ignore-case' },
  uptime: nothing,
  wc: {
    operands: 'files',
    namesOnly: true,
    flags: 'clLmw',
    long: 'bytes chars lines max-line-length words',
    harmless: true,
  },
  which: text,
  whoami: nothing,
};

/** A map, because every object has a `constructor` and a `toString`. */
const KNOWN: ReadonlyMap<string, KnownCommand> = new Map(Object.entries(TABLE));

/** A glob of rg also shows hidden files, unless no secret can match it. */
function mayRevealHidden(given: Arguments['given']): boolean {
  const globs = ['g', 'glob', 'iglob'].flatMap((flag) => given.get(flag) ?? []);
  return globs.some((glob) => !glob.startsWith('!') && !SOURCE.test(glob));
}

const SOURCE =
  /\.(?:[cm]?[jt]sx?|pyi?|rs|go|java|kt|swift|c|h|cc|cpp|hpp|cs|rb|php|lua|sql|proto|graphql|vue|svelte|html|s?css|mdx?|rst|sh|dart|scala|exs?|hs|zig)$/;

const SED_ADDRESS = String.raw`(?:\d+|\$)(?:,(?:\+?\d+|\$))?`;
const SED = new RegExp(`^ *(?:${SED_ADDRESS})?[pq=](?: *; *(?:${SED_ADDRESS})?[pq=])*;? *$`);

const SPECIAL: ReadonlyMap<string, (words: readonly Word[]) => CommandReads | Unknown> = new Map([
  ['awk', readAwk],
  ['cd', readCd],
  ['command', readCommand],
  ['find', readFind],
  ['git', readGit],
  ['test', readTest],
  ['[', readBracket],
  // Not for python, which runs what it is sent with -v.
  ['node', readVersion],
  ['npm', readVersion],
]);

function readVersion(words: readonly Word[]): CommandReads | Unknown {
  const isVersion = words.length === 1 && words[0]?.text === '-v';
  return isVersion ? NOTHING : { unknown: 'it is not a known read-only command' };
}

/** Options, `-` and the home directory are excluded: they depend on more than the words. */
function readCd(words: readonly Word[]): CommandReads | Unknown {
  const [directory, ...others] = words;
  const isPlain = directory !== undefined && directory.vague === undefined && directory.wild.length === 0;
  if (!isPlain || others.length > 0 || directory.text.startsWith('-') || directory.text === '')
    return { unknown: 'where it leads is not known before it runs' };
  return { files: [directory], below: false, enters: directory };
}

/** `command -v name`; as a prefix of another command it is removed before. */
function readCommand(words: readonly Word[]): CommandReads | Unknown {
  const [flag, ...names] = words;
  if (flag?.text !== '-v' && flag?.text !== '-V') return { unknown: 'it is not a known read-only command' };
  return readKnown(text, names);
}

function readBracket(words: readonly Word[]): CommandReads | Unknown {
  if (words.at(-1)?.text !== ']') return { unknown: 'its bracket is not closed' };
  return readTest(words.slice(0, -1));
}
