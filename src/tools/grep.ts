import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { asPolypodError, messageOf, PolypodError, shape } from '../base/index.ts';
import { attempt } from './attempt.ts';
import { counted, cutLine, oneLine } from './text/shorten.ts';
import { absolutePath, pathArgument, someText } from './path-argument.ts';
import { EVERY_PATH, parsePathFilter } from './search/path-filter.ts';
import { searchEnvironment } from './search/ripgrep.ts';
import { type FoundLine, type Search, searchLines } from './search/search-lines.ts';
import {
  type Access,
  defineTool,
  errorOutput,
  type ToolOutput,
  type ToolSurroundings,
  textOutput,
} from './tool.ts';

const DEFAULT_LIMIT = 100;
const MOST = 1_000;
const MOST_CONTEXT = 20;
const MOST_LINE_LENGTH = 500;
const MOST_LENGTH = 32_000;

const input = shape.fields(
  { pattern: someText('A regular expression; it is matched with each line. Look-around is not supported.') },
  {
    path: pathArgument(
      'The file or directory to search; the working directory if not given. ~ is not expanded.',
    ),
    glob: shape.described(
      shape.text('a pattern'),
      'Which files to search: *.ts for names at any depth, src/**/*.{ts,tsx} for paths from the directory on, !*.test.ts for all others.',
    ),
    ignoreCase: shape.described(shape.flag, 'Whether capital and small letters are the same.'),
    literal: shape.described(shape.flag, 'Whether the pattern is the text itself, not a regular expression.'),
    context: shape.described(
      shape.count(0),
      `How many lines to show around each match; ${MOST_CONTEXT} at most.`,
    ),
    limit: shape.described(
      shape.count(1),
      `How many matches to show: ${DEFAULT_LIMIT} if not given, ${MOST} at most.`,
    ),
  },
);
type Input = shape.ValueOf<typeof input>;

export const grep = defineTool({
  name: 'grep',
  description:
    'Searches the lines of files for a regular expression and shows them as path:line: text; lines around them as path-line- text. Files that .gitignore ignores and binary files are left out, and so are hidden ones, unless the glob has a name that starts with a dot or the path is hidden. Use this instead of grep or rg in bash.',
  input,
  parallel: true,
  access: (wanted, cwd) => accessOf(wanted, cwd),
  title: ({ pattern, path, glob }) =>
    oneLine(
      `grep ${oneLine(pattern, 60)}${path === undefined ? '' : ` in ${path}`}${glob === undefined ? '' : ` (${glob})`}`,
    ),
  run: (wanted, around, signal) =>
    attempt(wanted.path ?? '.', signal, () => grepFiles(wanted, around, signal)),
});

/** A glob for hidden files is told as well: among them are those with secrets. */
function accessOf({ path = '.', glob }: Input, cwd: string): readonly Access[] {
  const root = absolutePath(path, cwd);
  const filter = glob === undefined ? EVERY_PATH : parsePathFilter(glob);
  if (glob === undefined || typeof filter === 'string' || !filter.hidden)
    return [{ type: 'read', path: root }];
  return [root, join(root, glob)].map((touched) => ({ type: 'read', path: touched }));
}

async function grepFiles(wanted: Input, around: ToolSurroundings, signal: AbortSignal): Promise<ToolOutput> {
  const filter = wanted.glob === undefined ? EVERY_PATH : parsePathFilter(wanted.glob);
  if (typeof filter === 'string') return errorOutput(filter);
  const { path = '.', pattern, literal = false, ignoreCase = false, context = 0 } = wanted;
  const real = await around.resolve(absolutePath(path, around.cwd), 'read');
  const isDirectory = (await stat(real)).isDirectory();
  const search: Search = {
    pattern,
    literal,
    ignoreCase,
    context: Math.min(context, MOST_CONTEXT),
    directory: isDirectory ? real : dirname(real),
    files: isDirectory ? filter : { name: basename(real) },
  };
  const lines = searchLines(search, searchEnvironment(around), signal);
  const readable = isDirectory ? onlyReadable(lines, real, around) : lines;
  const found = await collect(readable, Math.min(wanted.limit ?? DEFAULT_LIMIT, MOST));
  return outputOf(pattern, found, isDirectory ? (file) => join(path, file) : () => path);
}

/** Leaves out files that may not be read: only the directory was judged so far, and it may hold secrets. */
async function* onlyReadable(
  lines: AsyncIterable<FoundLine>,
  directory: string,
  { resolve }: ToolSurroundings,
): AsyncGenerator<FoundLine> {
  let [last, isReadable] = ['', false];
  for await (const line of lines) {
    if (line.path !== last)
      [last, isReadable] = [line.path, await mayRead(join(directory, line.path), resolve)];
    if (isReadable) yield line;
  }
}

async function mayRead(path: string, resolve: ToolSurroundings['resolve']): Promise<boolean> {
  try {
    await resolve(path, 'read');
    return true;
  } catch {
    // Denied, or gone by now: either way it is not shown.
    return false;
  }
}

interface Found {
  readonly lines: readonly FoundLine[];
  readonly matches: number;
  /** Whether there is more than what is told here. */
  readonly more: boolean;
}

async function collect(lines: AsyncIterable<FoundLine>, limit: number): Promise<Found> {
  const kept: FoundLine[] = [];
  let [matches, length] = [0, 0];
  try {
    for await (const line of lines) {
      if ((line.matches && matches === limit) || length > MOST_LENGTH)
        return { lines: kept, matches, more: true };
      kept.push({ ...line, text: cutLine(line.text, MOST_LINE_LENGTH) });
      length += line.path.length + Math.min(line.text.length, MOST_LINE_LENGTH);
      matches += line.matches ? 1 : 0;
    }
  } catch (thrown) {
    throw asPolypodError(thrown).code === 'bad-request' ? invalidPattern(thrown) : thrown;
  }
  return { lines: kept, matches, more: false };
}

function invalidPattern(thrown: unknown): PolypodError {
  const why = `The pattern is not a regular expression that can be used: ${messageOf(thrown)}\nSet literal to true to search for the text itself.`;
  return new PolypodError('bad-request', why, { cause: thrown });
}

function outputOf(
  pattern: string,
  { lines, matches, more }: Found,
  shown: (file: string) => string,
): ToolOutput {
  const title = `grep ${oneLine(pattern, 60)}`;
  const details = { matches, files: new Set(lines.map(({ path }) => path)).size, more };
  if (matches === 0) {
    const text = 'No line matches. Hidden, ignored and binary files were not looked at.';
    return textOutput(`${title}: nothing`, text, details);
  }
  const text = lines.flatMap((line, index) => [
    ...(isApart(lines[index - 1], line, lines) ? ['--'] : []),
    line.matches
      ? `${shown(line.path)}:${line.number}: ${line.text}`
      : `${shown(line.path)}-${line.number}- ${line.text}`,
  ]);
  const note = `[there are more: narrow the pattern, path or glob, or raise limit (${MOST} at most)]`;
  const amount = `${counted(matches, 'match', 'matches')} in ${counted(details.files, 'file')}`;
  return textOutput(
    `${title}: ${more ? 'first ' : ''}${amount}`,
    [...text, ...(more ? [note] : [])].join('\n'),
    details,
  );
}

/** Whether a group of lines ends between two lines; without lines around the matches there are no groups. */
function isApart(before: FoundLine | undefined, line: FoundLine, lines: readonly FoundLine[]): boolean {
  if (before === undefined || lines.every(({ matches }) => matches)) return false;
  return before.path !== line.path || before.number + 1 !== line.number;
}
