import { DIM, type Line, type Style, PLAIN, span } from '../style.ts';

/** Colours strings, comments, numbers and keywords of a code line; line by line, so that code can stream. */
export function colourCode(text: string, language: string): Line {
  if (text === '') return [];
  if (language === 'diff' || language === 'patch') return [span(text, diffStyle(text))];
  const comment = COMMENTS[language];
  if (comment === undefined) return [span(text)];
  const tokens = new RegExp(`${comment}|${TOKENS}`, 'gu');
  const line: ReturnType<typeof span>[] = [];
  let end = 0;
  for (const match of text.matchAll(tokens)) {
    if (match.index > end) line.push(span(text.slice(end, match.index)));
    line.push(span(match[0], tokenStyle(match.groups ?? {})));
    end = match.index + match[0].length;
  }
  return end < text.length ? [...line, span(text.slice(end))] : line;
}

export function diffStyle(text: string): Style {
  if (text.startsWith('+++') || text.startsWith('---')) return DIM;
  if (text.startsWith('+')) return { colour: 'green' };
  if (text.startsWith('-')) return { colour: 'red' };
  return DIM;
}

function tokenStyle(groups: Readonly<Record<string, string | undefined>>): Style {
  if (groups.comment !== undefined) return DIM;
  if (groups.string !== undefined) return { colour: 'green' };
  if (groups.number !== undefined) return { colour: 'yellow' };
  return groups.keyword === undefined ? PLAIN : { colour: 'magenta' };
}

const TOKENS = [
  /(?<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`)/u,
  /(?<number>\b\d[\d_.]*(?:e[+-]?\d+)?\b)/u,
  /(?<keyword>\b(?:abstract|and|as|async|await|break|case|catch|class|const|continue|def|default|defer|do|done|elif|else|elsif|end|enum|esac|except|export|extends|extern|false|fi|final|finally|fn|for|from|func|function|go|if|impl|implements|import|in|interface|is|lambda|let|loop|match|mod|mut|namespace|new|nil|none|None|not|null|or|package|pass|private|protected|pub|public|raise|readonly|return|select|self|static|struct|super|switch|then|this|throw|trait|true|True|False|try|type|typeof|undefined|unsafe|use|using|var|void|where|while|with|yield)\b)/u,
]
  .map(({ source }) => source)
  .join('|');

const SLASHES = String.raw`(?<comment>//.*$|/\*.*?(?:\*/|$))`;
const HASH = String.raw`(?<comment>(?<=^|\s)#.*$)`;
const DASHES = String.raw`(?<comment>--.*$)`;

/** The comment syntax of the supported languages. */
const COMMENTS: Readonly<Record<string, string>> = Object.fromEntries([
  ...'ts typescript tsx js javascript jsx mjs json jsonc java kotlin c cpp c++ cs csharp go rust rs swift php scala css'
    .split(' ')
    .map((name) => [name, SLASHES]),
  ...'python py ruby rb sh bash shell zsh yaml yml toml r perl dockerfile make makefile elixir'
    .split(' ')
    .map((name) => [name, HASH]),
  ...'sql lua haskell hs'.split(' ').map((name) => [name, DASHES]),
]);
