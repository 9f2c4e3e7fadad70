import { fixedGitEnvironment } from '../policy/index.ts';

/** The variables of a shadow repository, and the examined directories from which git finds the real one. */
export interface ShimRepository {
  readonly shadow: Readonly<Record<string, string>>;
  readonly directories: readonly string[];
  readonly isLinkedWorktree: boolean;
}

export interface ShimParts {
  /** The real git, absolute. */
  readonly git: string;
  readonly repositories: readonly ShimRepository[];
  /** Examined directories outside any repository. */
  readonly none: readonly string[];
}

/**
 * Returns the `git` script for commands without approval. It knows the examined directories and uses their
 * shadow repositories; everywhere else, and for every other verb, it fails. It adds the options that keep git
 * from running programs of nested repositories and submodules.
 */
export function gitShim({ git, repositories, none }: ShimParts): string {
  return `#!/bin/sh
unset CDPATH ENV BASH_ENV GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_COMMON_DIR GIT_EXEC_PATH GIT_CONFIG_PARAMETERS GIT_EXTERNAL_DIFF GIT_NAMESPACE GIT_CEILING_DIRECTORIES
${exportLines(fixedGitEnvironment)}
refuse() { printf '%s\\n' "fatal: $1" >&2; exit 128; }
while :; do
  case "$1" in
    --no-pager|--no-optional-locks) shift ;;
    -C) cd -- "$2" || exit 128; shift 2 ;;
    *) break ;;
  esac
done
case "$1" in
  --version|version) exec ${quoteWord(git)} version ;;
esac
here=$(pwd -P) || exit 128
case "$here" in
${repositories
  .map(
    ({ directories, shadow, isLinkedWorktree }) => `  ${directories.map(quoteWord).join('|')})
    linked=${isLinkedWorktree ? 'yes' : 'no'}
    shadow() { ${exportLines(shadow).replaceAll('\n', '; ')}; } ;;
`,
  )
  .join(
    '',
  )}${none.length === 0 ? '' : `  ${none.map(quoteWord).join('|')}) refuse 'not a git repository (or any of the parent directories): .git' ;;\n`}  *) refuse "Polypod did not examine $here, so git does not run there without approval" ;;
esac
verb=$1
shift
case "$verb" in
  stash|remote|worktree|reflog)
    case "$verb $1" in
      'stash list'|'stash show'|'worktree list'|'reflog show'|'remote get-url') verb="$verb $1"; shift ;;
    esac ;;
esac
case "$verb" in
  diff|log|show) shadow; exec ${quoteWord(git)} --no-pager "$verb" ${DIFF} "$@" ;;
  reflog|'reflog show') shadow; exec ${quoteWord(git)} --no-pager reflog show ${DIFF} "$@" ;;
  'stash list') shadow; exec ${quoteWord(git)} --no-pager stash list ${DIFF} "$@" ;;
  'stash show')
    shadow
    # Without an option it prints a summary, and with any it does not.
    case " $*" in
      *' -'*) exec ${quoteWord(git)} --no-pager stash show ${DIFF} "$@" ;;
    esac
    exec ${quoteWord(git)} --no-pager stash show "$@" ;;
  status) shadow; exec ${quoteWord(git)} --no-pager status --ignore-submodules=all "$@" ;;
  blame|grep) shadow; exec ${quoteWord(git)} --no-pager "$verb" --no-textconv "$@" ;;
  cat-file|check-ignore|count-objects|describe|for-each-ref|ls-files|ls-tree|merge-base|name-rev|remote|rev-list|shortlog|show-ref|tag)
    shadow; exec ${quoteWord(git)} --no-pager "$verb" "$@" ;;
  'remote get-url') shadow; exec ${quoteWord(git)} --no-pager remote get-url "$@" ;;
  # These print paths of the real repository. They run nothing, whatever its configuration is.
  branch) [ "$linked" = yes ] || shadow; exec ${quoteWord(git)} --no-pager branch "$@" ;;
  rev-parse) exec ${quoteWord(git)} --no-pager rev-parse "$@" ;;
  'worktree list') exec ${quoteWord(git)} --no-pager worktree list "$@" ;;
esac
refuse "git $verb does not run without approval"
`;
}

const DIFF = '--ignore-submodules=all --no-ext-diff --no-textconv';

function exportLines(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => `export ${name}=${quoteWord(value)}`)
    .join('\n');
}

/** Quotes a text as one shell word. */
function quoteWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
