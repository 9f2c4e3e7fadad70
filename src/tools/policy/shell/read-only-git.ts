import { type Arguments, readArguments, type Unknown } from './flag-table.ts';
import { type KnownCommand, type CommandReads, readKnown } from './known-command.ts';
import type { Word } from './lexer.ts';

/**
 * Returns what git would read. Only for commands that neither change the repository nor use the network. They
 * run with a shadow repository through the shim in read-only-run/git-shim.ts, which must support every verb
 * too.
 */
export function readGit(words: readonly Word[]): CommandReads | Unknown {
  const [first, ...others] = words;
  if (first?.text === '-C') return readInDirectory(others);
  return readVerb(words, undefined);
}

/** `git -C directory …`: once, with a known directory. */
function readInDirectory([directory, ...words]: readonly Word[]): CommandReads | Unknown {
  const isPlain = directory !== undefined && directory.vague === undefined && directory.wild.length === 0;
  if (!isPlain || directory.text === '' || directory.text.startsWith('-'))
    return { unknown: 'where it leads is not known before it runs' };
  return readVerb(words, directory);
}

function readVerb(words: readonly Word[], from: Word | undefined): CommandReads | Unknown {
  const [first, ...others] = words;
  // Of the options before the subcommand only these two are allowed; -c, --git-dir and --exec-path select what
  // runs.
  if (first?.text === '--no-pager' || first?.text === '--no-optional-locks') return readVerb(others, from);
  if (first?.text === '--version') return readKnown({ operands: 'none' }, others);
  const name = first?.text ?? '';
  const double = COMMANDS.get(`${name} ${others[0]?.text ?? ''}`);
  const table = double ?? COMMANDS.get(name);
  if (table === undefined || SIGNATURES.test(words.map(({ text }) => text).join(' ')))
    return { unknown: `git ${name} is not known to only read` };
  const rest = double === undefined ? others : others.slice(1);
  const reading = readKnown(table, rest);
  const args = readArguments(table, rest);
  if ('unknown' in reading || 'unknown' in args) return reading;
  const full = double === undefined ? name : `${name} ${others[0]?.text ?? ''}`;
  return { ...reading, git: { shows: showsContents(full, args) ? 'contents' : 'names', from } };
}

/** Flags that make `log` and similar commands show changes line by line. */
const SHOWN =
  'p u U G S L c patch unified word-diff word-diff-regex color-words function-context check'.split(' ');

/** Commands that show file contents by default, and the flags that reduce this. */
const SHOWING: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'diff',
    's stat shortstat numstat dirstat summary name-only name-status raw quiet no-patch compact-summary'.split(
      ' ',
    ),
  ],
  ['grep', 'l L c q count files-with-matches files-without-match name-only quiet'.split(' ')],
  ['show', []],
  ['stash show', ['name-only', 'name-status', 'stat', 'shortstat', 'numstat']],
]);

/** Returns whether it shows contents, not only names, of files that were not named. */
function showsContents(name: string, { given }: Arguments): boolean {
  const has = (flag: string) => given.has(flag);
  if (name === 'grep') return !SHOWING.get(name)?.some(has);
  if (name === 'cat-file') return !['e', 's', 't'].some(has);
  const isLess = SHOWING.get(name)?.some(has) ?? true;
  return !isLess || SHOWN.some(has);
}

/** Formats that make git run a program to verify signatures. */
const SIGNATURES = /%G|%\(signature|%\(G/;

/** The flags of `log`, `show` and `diff` for changes. Excludes --output, --ext-diff, --textconv, --no-index, -O. */
const CHANGES = {
  flags: 'abBMpRswuz',
  valued: 'GSU',
  long:
    'patch no-patch stat=? shortstat numstat dirstat=? summary name-only name-status raw unified= minimal patience ' +
    'histogram diff-algorithm= color=? no-color color-words=? word-diff=? word-diff-regex= color-moved=? ' +
    'no-renames find-renames=? find-copies=? diff-filter= pickaxe-all pickaxe-regex check full-index abbrev=? ' +
    'ignore-space-change ignore-all-space ignore-blank-lines ignore-space-at-eol function-context relative ' +
    'text exit-code quiet compact-summary no-ext-diff no-textconv cached staged merge-base no-prefix',
  digits: true,
} as const;

const COMMITS =
  'oneline graph all decorate=? no-decorate pretty=? format= date= abbrev-commit no-abbrev-commit max-count= skip= ' +
  'since= after= until= before= author= committer= grep= invert-grep all-match regexp-ignore-case ' +
  'extended-regexp fixed-strings merges no-merges first-parent reverse follow branches=? tags=? remotes=? ' +
  'topo-order date-order left-right cherry-pick count parents children full-history simplify-by-decoration ' +
  'left-only right-only cherry no-walk=? reflog walk-reflogs source use-mailmap mailmap';

const log: KnownCommand = {
  operands: 'files',
  flags: `${CHANGES.flags}gicEFm`,
  valued: `${CHANGES.valued}nL`,
  long: `${CHANGES.long} ${COMMITS}`,
  digits: true,
};

/** Operands would create a branch or tag, unless they are declared as patterns. */
const listsOnly = ({ operands, given }: Arguments): boolean =>
  operands.length === 0 || given.has('l') || given.has('list');

/** Two words where the first alone does more than read. */
const COMMANDS: ReadonlyMap<string, KnownCommand> = new Map(
  Object.entries<KnownCommand>({
    blame: {
      operands: 'files',
      flags: 'bcCeflMnpstw',
      valued: 'L',
      long: 'date= abbrev=? show-email show-name',
    },
    branch: {
      operands: 'files',
      // Before 2.19, -l created a branch.
      flags: 'arv',
      long: 'all list remotes verbose show-current color=? no-color column=? no-column sort= format= no-abbrev abbrev=?',
      accepts: listsOnly,
    },
    'cat-file': { operands: 'files', flags: 'epst' },
    // -v prints lines of the file that a repository configures for its ignore rules.
    'check-ignore': { operands: 'files', flags: 'q', long: 'quiet no-index' },
    'count-objects': { operands: 'none', flags: 'vH' },
    describe: { operands: 'files', long: 'all always tags long abbrev= match= exact-match contains' },
    diff: { operands: 'files', ...CHANGES },
    'for-each-ref': { operands: 'files', long: 'format= sort= count= contains=? merged=? points-at=' },
    grep: {
      operands: 'pattern',
      flags: 'acEFGhHiIlLnoPpqvwWz',
      valued: 'ABCem',
      long:
        'cached count extended-regexp files-with-matches files-without-match fixed-strings heading break ' +
        'ignore-case line-number name-only only-matching perl-regexp show-function word-regexp max-depth= ' +
        'after-context= before-context= context= color=? no-color text quiet invert-match column',
      digits: true,
      patternFlags: ['e'],
    },
    log,
    'ls-files': {
      operands: 'files',
      flags: 'cdmokstuvz',
      long:
        'cached deleted modified others ignored stage killed unmerged exclude-standard full-name error-unmatch ' +
        'directory exclude= abbrev=?',
    },
    'ls-tree': {
      operands: 'files',
      flags: 'dlrtz',
      long: 'name-only name-status full-name full-tree long abbrev=?',
    },
    'merge-base': { operands: 'files', flags: 'a', long: 'all is-ancestor fork-point octopus' },
    'name-rev': { operands: 'files', long: 'name-only tags all' },
    reflog: { ...log, operands: 'none' },
    'reflog show': log,
    remote: { operands: 'none', flags: 'v', long: 'verbose' },
    'remote get-url': { operands: 'files' },
    'rev-list': log,
    'rev-parse': {
      operands: 'files',
      flags: 'q',
      long:
        'abbrev-ref=? absolute-git-dir git-common-dir git-dir is-bare-repository is-inside-git-dir ' +
        'is-inside-work-tree quiet short=? show-cdup show-prefix show-toplevel symbolic symbolic-full-name verify',
    },
    shortlog: { operands: 'files', flags: 'cens', long: `${COMMITS} numbered summary email` },
    show: log,
    'show-ref': {
      operands: 'files',
      flags: 'dqs',
      long: 'head heads tags dereference hash=? verify quiet abbrev=?',
    },
    'stash list': log,
    'stash show': log,
    status: {
      operands: 'files',
      // -v shows changes, and with -vv text converters cannot be disabled.
      flags: 'bsuz',
      long:
        'short branch show-stash porcelain=? long untracked-files=? ignored=? ' +
        'column=? no-column ahead-behind no-ahead-behind renames no-renames',
    },
    tag: {
      operands: 'files',
      flags: 'ln',
      long: 'list sort= format= color=? column=? contains=? points-at= merged=?',
      accepts: listsOnly,
    },
    version: { operands: 'none' },
    'worktree list': { operands: 'none', flags: 'v', long: 'porcelain verbose' },
  }),
);
