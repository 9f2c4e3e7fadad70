import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { asPolypodError, messageOf, PolypodError, shape } from '../base/index.ts';
import { attempt } from './attempt.ts';
import { formatCount, cutLine, oneLine } from './text/shorten.ts';
import { absolutePath, pathArgument, nonEmptyText } from './path-argument.ts';
import { EVERY_PATH, parsePathFilter } from './search/path-filter.ts';
import { searchEnvironment } from './search/ripgrep.ts';
import { type FoundLine, type Search, searchLines } from './search/search-lines.ts';
import {
  type Access,
  defineTool,
  errorOutput,
  type ToolOutput,
  type ToolContext,
  textOutput,
} from './tool.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
const MAX_CONTEXT = 20;
const MAX_LINE_LENGTH = 500;
const MAX_LENGTH = 32_000;

const input = shape.fields(
  {
    pattern: nonEmptyText(
      'A regular expression that is matched against each line. Look-around is not supported.',
    ),
  },
  {
    path: pathArgument('The file or directory to search; default: the working directory. ~ is not expanded.'),
    glob: shape.withDescription(
      shape.text('a pattern'),
      'Which files to search: *.ts for names at any depth, src/**/*.{ts,tsx} for paths from the directory on, !*.test.ts for all others.',
    ),
    ignoreCase: shape.withDescription(shape.boolean, 'Whether to ignore case.'),
    literal: shape.withDescription(
      shape.boolean,
      'Whether the pattern is literal text, not a regular expression.',
    ),
    context: shape.withDescription(
      shape.integerFrom(0),
      `How many lines to show around each match; at most ${MAX_CONTEXT}.`,
    ),
    limit: shape.withDescription(
      shape.integerFrom(1),
      `How many matches to show: default ${DEFAULT_LIMIT}, at most ${MAX_LIMIT}.`,
    ),
  },
);
type Input = shape.ValueOf<typeof input>;

export const grep = defineTool({
  name: 'grep',
  description:
    'Searches the lines of files for a regular expression and shows them as path:line: text; lines around them as path-line- text. Files that .gitignore ignores and binary files are omitted, and so are hidden ones, unless the glob has a name that starts with a dot or the path is hidden. Use this instead of grep or rg in bash.',
  input,
  parallel: true,
  access: (input, cwd) => grepAccess(input, cwd),
  title: ({ pattern, path, glob }) =>
    oneLine(
      `grep ${oneLine(pattern, 60)}${path === undefined ? '' : ` in ${path}`}${glob === undefined ? '' : ` (${glob})`}`,
    ),
  run: (input, context, signal) =>
    attempt(input.path ?? '.', signal, () => grepFiles(input, context, signal)),
});

/** A glob for hidden files is reported to the policy as well: hidden files may contain secrets. */
function grepAccess({ path = '.', glob }: Input, cwd: string): readonly Access[] {
  const root = absolutePath(path, cwd);
  const filter = glob === undefined ? EVERY_PATH : parsePathFilter(glob);
  if (glob === undefined || typeof filter === 'string' || !filter.hidden)
    return [{ type: 'read', path: root }];
  return [root, join(root, glob)].map((touched) => ({ type: 'read', path: touched }));
}

async function grepFiles(input: Input, toolContext: ToolContext, signal: AbortSignal): Promise<ToolOutput> {
  const filter = input.glob === undefined ? EVERY_PATH : parsePathFilter(input.glob);
  if (typeof filter === 'string') return errorOutput(filter);
  const { path = '.', pattern, literal = false, ignoreCase = false, context = 0 } = input;
  const real = await toolContext.resolve(absolutePath(path, toolContext.cwd), 'read');
  const isDirectory = (await stat(real)).isDirectory();
  const search: Search = {
    pattern,
    literal,
    ignoreCase,
    context: Math.min(context, MAX_CONTEXT),
    directory: isDirectory ? real : dirname(real),
    files: isDirectory ? filter : { name: basename(real) },
  };
  const lines = searchLines(search, searchEnvironment(toolContext), signal);
  const readable = isDirectory ? onlyReadable(lines, real, toolContext) : lines;
  const found = await collect(readable, Math.min(input.limit ?? DEFAULT_LIMIT, MAX_LIMIT));
  return toOutput(pattern, found, isDirectory ? (file) => join(path, file) : () => path);
}

/** Omits files that may not be read: so far only the directory was checked, and it may contain secrets. */
async function* onlyReadable(
  lines: AsyncIterable<FoundLine>,
  directory: string,
  { resolve }: ToolContext,
): AsyncGenerator<FoundLine> {
  let [last, isReadable] = ['', false];
  for await (const line of lines) {
    if (line.path !== last)
      [last, isReadable] = [line.path, await mayRead(join(directory, line.path), resolve)];
    if (isReadable) yield line;
  }
}

async function mayRead(path: string, resolve: ToolContext['resolve']): Promise<boolean> {
  try {
    await resolve(path, 'read');
    return true;
  } catch {
    // Denied, or deleted meanwhile: not shown in either case.
    return false;
  }
}

interface SearchResult {
  readonly lines: readonly FoundLine[];
  readonly matches: number;
  /** Whether there are more matches than listed here. */
  readonly more: boolean;
}

async function collect(lines: AsyncIterable<FoundLine>, limit: number): Promise<SearchResult> {
  const collected: FoundLine[] = [];
  let [matches, length] = [0, 0];
  try {
    for await (const line of lines) {
      if ((line.matches && matches === limit) || length > MAX_LENGTH)
        return { lines: collected, matches, more: true };
      collected.push({ ...line, text: cutLine(line.text, MAX_LINE_LENGTH) });
      length += line.path.length + Math.min(line.text.length, MAX_LINE_LENGTH);
      matches += line.matches ? 1 : 0;
    }
  } catch (thrown) {
    throw asPolypodError(thrown).code === 'bad-request' ? invalidPattern(thrown) : thrown;
  }
  return { lines: collected, matches, more: false };
}

function invalidPattern(thrown: unknown): PolypodError {
  const message = `The pattern is not a valid regular expression: ${messageOf(thrown)}\nSet literal to true to search for the text itself.`;
  return new PolypodError('bad-request', message, { cause: thrown });
}

function toOutput(
  pattern: string,
  { lines, matches, more }: SearchResult,
  shown: (file: string) => string,
): ToolOutput {
  const title = `grep ${oneLine(pattern, 60)}`;
  const details = { matches, files: new Set(lines.map(({ path }) => path)).size, more };
  if (matches === 0) {
    const text = 'No line matches. Hidden, ignored and binary files were not searched.';
    return textOutput(`${title}: nothing`, text, details);
  }
  const text = lines.flatMap((line, index) => [
    ...(isGroupBreak(lines[index - 1], line, lines) ? ['--'] : []),
    line.matches
      ? `${shown(line.path)}:${line.number}: ${line.text}`
      : `${shown(line.path)}-${line.number}- ${line.text}`,
  ]);
  const note = `[there are more: narrow the pattern, path or glob, or raise limit (${MAX_LIMIT} at most)]`;
  const amount = `${formatCount(matches, 'match', 'matches')} in ${formatCount(details.files, 'file')}`;
  return textOutput(
    `${title}: ${more ? 'first ' : ''}${amount}`,
    [...text, ...(more ? [note] : [])].join('\n'),
    details,
  );
}

/** Returns whether a group of lines ends between two lines; without context lines there are no groups. */
function isGroupBreak(before: FoundLine | undefined, line: FoundLine, lines: readonly FoundLine[]): boolean {
  if (before === undefined || lines.every(({ matches }) => matches)) return false;
  return before.path !== line.path || before.number + 1 !== line.number;
}
