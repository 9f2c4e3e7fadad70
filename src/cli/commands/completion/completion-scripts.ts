import type { Listing, Option, OptionTable, ArgumentKinds } from '../../options.ts';

/** The parts of a command that a shell completes. */
export interface Completable {
  readonly name: string;
  readonly summary: string;
  readonly options: OptionTable;
  readonly words: readonly string[];
  readonly takes: ArgumentKinds | undefined;
}

/** The command that lists completions, each with a description after a tab. */
const asking = (listing: Listing): string => `polypod completion ${listing} 2>/dev/null`;

/** The completion script generators by shell. */
export const SHELLS: Readonly<Record<string, (commands: readonly Completable[]) => string>> = {
  bash,
  zsh,
  fish,
};

function bash(commands: readonly Completable[]): string {
  const cases = commands.map(({ name, options, words, takes }) => {
    const flags = Object.entries(options).flatMap(([long, option]) => spellings(long, option));
    const values = Object.entries(options).flatMap(([long, option]) => {
      const listing = completes(option) ?? '';
      const choices = choicesOf(option).join(' ');
      if (listing === '' && choices === '') return [];
      return [`      ${spellings(long, option).join('|')}) words="${choices}" listing=${listing} ;;\n`];
    });
    const value = values.length === 0 ? '' : `      case "$previous" in\n${values.join('')}      esac\n`;
    return `    ${name})\n      words="${[...flags, '--help'].join(' ')}"\n${bashArguments(words, takes)}${value}      ;;\n`;
  });
  const names = commands.map(({ name }) => name).join(' ');
  return `# bash completion for polypod
# Adds the listed words that begin with the current word. Names can contain spaces, quotes and $: nothing is expanded.
_polypod_listed() {
  local typed="$2" word
  case "$typed" in \\"*|\\'*) typed="\${typed:1}" ;; *) typed="\${typed//\\\\/}" ;; esac
  while IFS=$'\\t' read -r word _; do
    [[ -n "$word" && "$word" == "$typed"* ]] || continue
    # Inside quotes, only a word that needs no escapes can be inserted.
    case "$2" in
    \\"*|\\'*) case "$word" in *[$\\\`\\\\\\"\\'!]*) ;; *) COMPREPLY+=("$word") ;; esac ;;
    *) COMPREPLY+=("$(printf %q "$word")") ;;
    esac
  done < <(polypod completion "$1" 2>/dev/null)
}
_polypod() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}" words word action= listing=
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${names} help --version --help"
  else
    case "\${COMP_WORDS[1]}" in
    help) words="${names}" ;;
${cases.join('')}    esac
  fi
  local IFS=$' \\n'
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [ -n "$listing" ]; then _polypod_listed "$listing" "$current"; fi
}
complete -o default -F _polypod polypod
`;
}

/** Completes the subcommands first, then the arguments of the subcommand. */
function bashArguments(words: readonly string[], takes: ArgumentKinds | undefined): string {
  const adding = (listing: Listing): string => `listing=${listing}`;
  const listings = behind(words, takes);
  if (words.length === 0) return listings.map(([, listing]) => `      ${adding(listing)}\n`).join('');
  return `      for word in "\${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
        case "$word" in ${words.join('|')}) action="$word"; break ;; esac
      done
      case "$action" in
      '') words="${words.join(' ')} $words" ;;
${listings.map(([word, listing]) => `      ${word}) ${adding(listing)} ;;\n`).join('')}      esac
`;
}

function zsh(commands: readonly Completable[]): string {
  const names = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}`);
  const cases = commands.map(({ name, options, words, takes }) => {
    const flags = Object.entries(options).flatMap(([long, option]) => zshOptions(long, option));
    const first = words.length === 0 ? [] : [quoted(`1:what:(${words.join(' ')})`)];
    const rest = [quoted(zshArguments(words, takes))];
    return `    ${name}) _arguments ${[...flags, ...first, ...rest].join(' ')} ;;\n`;
  });
  return `#compdef polypod
# zsh completion for polypod
_polypod_listed() {
  local -a words
  words=(\${(f)"$(polypod completion $1 2>/dev/null | sed -e 's/:/\\\\:/g' -e 's/\\t/:/')"})
  _describe $1 words
}
_polypod() {
  local -a commands
  commands=(
${names.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
${cases.join('')}  esac
}
if [ "$funcstack[1]" = "_polypod" ]; then _polypod "$@"; else compdef _polypod polypod; fi
`;
}

function zshArguments(words: readonly string[], takes: ArgumentKinds | undefined): string {
  if (takes === undefined) return '*:argument:_files';
  if (typeof takes === 'string') return `*:${takes}:${zshListing(takes)}`;
  const listed = behind(words, takes).map(
    ([word, listing]) => `(( \${words[(I)${word}]} )) && _polypod_listed ${listing}`,
  );
  return `*:argument:{${listed.join('; ')}}`;
}

function zshOptions(long: string, option: Option): readonly string[] {
  const value = option.type === 'flag' ? '' : `:${zshText(valueName(option))}:${zshValues(option)}`;
  const repeat = option.type === 'texts' ? '*' : '';
  return spellings(long, option).map((word) => quoted(`${repeat}${word}[${zshText(option.help)}]${value}`));
}

function zshValues(option: Option): string {
  const choices = choicesOf(option);
  const listing = completes(option);
  if (listing !== undefined) return zshListing(listing);
  return choices.length === 0 ? '_files' : `(${choices.join(' ')})`;
}

function zshListing(listing: Listing): string {
  return `{_polypod_listed ${listing}}`;
}

/** These characters would end the description. */
function zshText(text: string): string {
  return text.replaceAll(/[[\]:]/g, (character) => `\\${character}`);
}

function fish(commands: readonly Completable[]): string {
  const lines = commands.flatMap(({ name, summary, options, words, takes }) => {
    const of = `-n ${quoted(`__fish_seen_subcommand_from ${name}`)}`;
    return [
      `complete -c polypod -f -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
      ...words.map((word) => `complete -c polypod -f ${fishWhere(name, `not ${seen(words)}`)} -a ${word}`),
      ...behind(words, takes).map(
        ([word, listing]) =>
          `complete -c polypod -f ${word === '' ? of : fishWhere(name, seen([word]))} -a ${quoted(`(${asking(listing)})`)}`,
      ),
      ...Object.entries(options).map(
        ([long, option]) => `complete -c polypod ${of} ${fishOption(long, option)}`,
      ),
    ];
  });
  return `# fish completion for polypod\n${lines.join('\n')}\n`;
}

function fishWhere(name: string, condition: string): string {
  return `-n ${quoted(`${seen([name])}; and ${condition}`)}`;
}

function seen(words: readonly string[]): string {
  return `__fish_seen_subcommand_from ${words.join(' ')}`;
}

function fishOption(long: string, option: Option): string {
  const short = option.short === undefined ? '' : ` -s ${option.short}`;
  const listing = completes(option);
  const choices = listing === undefined ? choicesOf(option).join(' ') : `(${asking(listing)})`;
  const value = option.type === 'flag' ? '' : choices === '' ? ' -r' : ` -x -a ${quoted(choices)}`;
  return `-l ${long}${short}${value} -d ${quoted(option.help)}`;
}

/** The listing for each subcommand; the empty string is the key of the command itself. */
function behind(
  words: readonly string[],
  takes: ArgumentKinds | undefined,
): readonly (readonly [word: string, listing: Listing])[] {
  if (takes === undefined) return [];
  if (typeof takes !== 'string') return Object.entries(takes);
  return (words.length === 0 ? [''] : words).map((word) => [word, takes] as const);
}

/** `--long`, and `-s` if the option has a letter. */
function spellings(long: string, { short }: Option): readonly string[] {
  return [`--${long}`, ...(short === undefined ? [] : [`-${short}`])];
}

function completes(option: Option): Listing | undefined {
  return option.type === 'text' ? option.completes : undefined;
}

function choicesOf(option: Option): readonly string[] {
  return option.type === 'choice' ? option.choices : [];
}

function valueName(option: Exclude<Option, { type: 'flag' }>): string {
  return option.type === 'choice' ? (option.value ?? 'value') : option.value;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
