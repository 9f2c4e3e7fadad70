import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { shape } from '../base/index.ts';
import { attempt } from './attempt.ts';
import { counted, oneLine } from './text/shorten.ts';
import { listFiles } from './search/list-files.ts';
import { searchEnvironment } from './search/ripgrep.ts';
import { absolutePath, pathArgument } from './path-argument.ts';
import { type PathFilter, parsePathFilter } from './search/path-filter.ts';
import { defineTool, errorOutput, type ToolOutput, type ToolSurroundings, textOutput } from './tool.ts';

const DEFAULT_LIMIT = 200;
const MOST = 5_000;
const MOST_LENGTH = 64_000;

const input = shape.fields(
  {
    pattern: shape.described(
      shape.text('a pattern'),
      'A glob: *.ts for names at any depth, src/**/*.{ts,tsx} for paths from the directory on.',
    ),
  },
  {
    path: pathArgument('The directory to search; the working directory if not given. ~ is not expanded.'),
    limit: shape.described(
      shape.count(1),
      `How many files to list: ${DEFAULT_LIMIT} if not given, ${MOST} at most.`,
    ),
  },
);
type Input = shape.ValueOf<typeof input>;

export const find = defineTool({
  name: 'find',
  description:
    'Finds files by name and lists them in order. Files that .gitignore ignores are left out, and so are hidden ones, unless the pattern has a name that starts with a dot or the path is a hidden directory. Directories and links are not listed.',
  input,
  parallel: true,
  access: ({ path = '.' }, cwd) => [{ type: 'read', path: absolutePath(path, cwd) }],
  title: ({ pattern, path }) => oneLine(`find ${pattern}${path === undefined ? '' : ` in ${path}`}`),
  run: (wanted, around, signal) =>
    attempt(wanted.path ?? '.', signal, () => findFiles(wanted, around, signal)),
});

async function findFiles(wanted: Input, around: ToolSurroundings, signal: AbortSignal): Promise<ToolOutput> {
  const { pattern, path = '.', limit = DEFAULT_LIMIT } = wanted;
  const filter = parsePathFilter(pattern);
  if (typeof filter === 'string') return errorOutput(filter);
  const directory = await around.resolve(absolutePath(path, around.cwd), 'read');
  if (!(await stat(directory)).isDirectory())
    return errorOutput(`${path} is a file. Use read to see what is in it, or name a directory.`);
  const { files, more } = await collect(
    directory,
    filter,
    Math.min(limit, MOST),
    searchEnvironment(around),
    signal,
  );
  if (files.length === 0) {
    const text = `No file matches ${pattern}. Hidden and ignored files were not looked at.`;
    return textOutput(`find ${pattern}: nothing`, text, { files: 0, more });
  }
  const note = `[there are more: narrow the pattern, name a directory, or raise limit (${MOST} at most)]`;
  const lines = [...files.map((file) => join(path, file)), ...(more ? [note] : [])];
  const summary = `find ${pattern}: ${more ? 'first ' : ''}${counted(files.length, 'file')}`;
  return textOutput(summary, lines.join('\n'), { files: files.length, more });
}

async function collect(
  directory: string,
  filter: PathFilter,
  limit: number,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<{ readonly files: readonly string[]; readonly more: boolean }> {
  const files: string[] = [];
  let length = 0;
  for await (const file of listFiles(directory, filter, env, signal)) {
    if (files.length === limit || length > MOST_LENGTH) return { files, more: true };
    files.push(file);
    length += file.length;
  }
  return { files, more: false };
}
