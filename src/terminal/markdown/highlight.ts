import { createRequire } from 'node:module';
import { decodeEntities } from './inline.ts';
import { CYAN, DIM, GREEN, PLAIN, type Line, type Span, type Style, span, YELLOW } from '../style.ts';

/** A line of code with styles, as the last line of a part of a code block. */
export interface HighlightedLine {
  readonly line: Line;
  /** Whether a comment, a string or a similar construct continues on the next line. */
  readonly isOpen: boolean;
}

/** Returns the name of the highlight.js module for a language, if it is supported. */
export function grammarOf(language: string): string | undefined {
  return GRAMMARS.get(language.toLowerCase());
}

/** Highlights the last of these lines; the others are its context. */
export function highlightLast(grammar: string, lines: readonly string[]): HighlightedLine {
  const source = lines.join('\n');
  const key = `${grammar}\n${source}`;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const highlighted = lastLine(
    highlighter(grammar).highlight(`${source}\n`, { language: grammar, ignoreIllegals: true }).value,
  );
  if (cache.size >= MAX_CACHED) cache.clear();
  cache.set(key, highlighted);
  return highlighted;
}

/** An unfinished list item or quote is rendered again with each delta, including the code in it. */
const cache = new Map<string, HighlightedLine>();
const MAX_CACHED = 500;

interface Highlighter {
  highlight(code: string, options: { language: string; ignoreIllegals: boolean }): { readonly value: string };
  registerLanguage(name: string, grammar: unknown): void;
  newInstance(): Highlighter;
}

const require = createRequire(import.meta.url);
const highlighters = new Map<string, Highlighter>();

/**
 * Loads highlight.js and a grammar when the first block of the language appears: most chats need few of them. Each
 * language has its own instance, so that its colours do not depend on the languages before it.
 */
function highlighter(grammar: string): Highlighter {
  const known = highlighters.get(grammar);
  if (known !== undefined) return known;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- its own types need the types of browsers
  const added = (require('highlight.js/lib/core') as Highlighter).newInstance();
  for (const name of [grammar, ...(EMBEDDED[grammar] ?? [])])
    added.registerLanguage(name, require(`highlight.js/lib/languages/${name}`));
  highlighters.set(grammar, added);
  return added;
}

/** Reads the last line of the HTML that highlight.js returns: text in nested `<span class="hljs-…">`. */
function lastLine(html: string): HighlightedLine {
  const looks: Style[] = [];
  let line: Span[] = [];
  let last: HighlightedLine = { line, isOpen: false };
  for (const [, names, text = ''] of html.matchAll(HTML)) {
    if (names !== undefined) looks.push(scopeStyle(names) ?? looks.at(-1) ?? PLAIN);
    else if (text === '') looks.pop();
    text.split('\n').forEach((part, index) => {
      if (index > 0) {
        last = { line, isOpen: looks.length > 0 };
        line = [];
      }
      if (part !== '') line.push(span(decodeEntities(part), looks.at(-1)));
    });
  }
  return last;
}

const HTML = /<span class="([^"]*)">|<\/span>|([^<]+)/g;

/** Returns the style of a scope such as `hljs-title function_`; other scopes look like what contains them. */
function scopeStyle(names: string): Style | undefined {
  const [name = '', detail = ''] = names.slice('hljs-'.length).split(' ');
  return STYLES.get(`${name}.${detail}`) ?? STYLES.get(name);
}

const STYLES: ReadonlyMap<string, Style> = new Map(
  (
    [
      ['comment quote meta', DIM],
      ['string regexp', GREEN],
      ['subst', PLAIN],
      ['number literal symbol', YELLOW],
      ['keyword selector-tag name', { colour: 'magenta' }],
      ['built_in type title.class_ selector-class selector-id', CYAN],
      ['title section attr attribute', { colour: 'blue' }],
      ['strong', { bold: true }],
      ['emphasis', { italic: true }],
      ['link', { underline: true }],
    ] as const
  ).flatMap(([names, style]) => names.split(' ').map((name) => [name, style])),
);

/** The supported languages: the names of highlight.js modules, each with its other names. */
const LANGUAGES = `
bash sh shell zsh console | c h | clojure clj | cmake | cpp c++ cc hpp | csharp cs c# | css | dart
dockerfile docker | elixir ex exs | erlang erl | go golang | graphql gql | groovy gradle | haskell hs | ini toml
java | javascript js jsx mjs cjs node | json jsonc json5 | julia jl | kotlin kt kts | latex tex | less | lua
makefile make mk | markdown md | nginx | nix | objectivec objc | ocaml ml | perl pl | php | powershell ps1 pwsh
protobuf proto | python py | r | ruby rb | rust rs | scala | scss | sql postgresql mysql sqlite | swift
typescript ts tsx mts cts | vim | xml html svg xhtml vue | yaml yml
`;

const GRAMMARS: ReadonlyMap<string, string> = new Map(
  LANGUAGES.trim()
    .split(/\s*[|\n]\s*/)
    .flatMap((names) => {
      const [grammar = '', ...others] = names.split(' ');
      return [grammar, ...others].map((name) => [name, grammar] as const);
    }),
);

/** The languages that occur inside another one. */
const EMBEDDED: Readonly<Record<string, readonly string[]>> = {
  xml: ['javascript', 'css'],
  javascript: ['xml'],
  typescript: ['xml'],
  markdown: ['xml'],
  php: ['xml'],
};
