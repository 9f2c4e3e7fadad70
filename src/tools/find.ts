import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { shape } from '../base/index.ts';
import { attempt } from './attempt.ts';
import { formatCount, oneLine } from './text/shorten.ts';
import { listFiles } from './search/list-files.ts';
import { searchEnvironment } from './search/ripgrep.ts';
import { absolutePath, pathArgument } from './path-argument.ts';
import { type PathFilter, parsePathFilter } from './search/path-filter.ts';
import { defineTool, errorOutput, type ToolOutput, type ToolContext, textOutput } from './tool.ts';

const DEFAULT_LIMIT = 200;
const MAX_LIMIT = 5_000;
const MAX_LENGTH = 64_000;

const input = shape.fields(
  {
    pattern: shape.withDescription(
      shape.text('a pattern'),
      'A glob: *.ts for names at any depth, src/**/*.{ts,tsx} for paths from the directory on.',
    ),
  },
  {
    path: pathArgument('The directory to search; default: the working directory. ~ is not expanded.'),
    limit: shape.withDescription(
      shape.integerFrom(1),
      `How many files to list: default ${DEFAULT_LIMIT}, at most ${MAX_LIMIT}.`,
    ),
  },
);
type Input = shape.ValueOf<typeof input>;

export const find = defineTool({
  name: 'find',
  description:
    'Finds files by name and lists them in order. Files that .gitignore ignores are omitted, and so are hidden ones, unless the pattern has a name that starts with a dot or the path is a hidden directory. Directories and links are not listed.',
  input,
  parallel: true,
  access: ({ path = '.' }, cwd) => [{ type: 'read', path: absolutePath(path, cwd) }],
  title: ({ pattern, path }) => oneLine(`find ${pattern}${path === undefined ? '' : ` in ${path}`}`),
  run: (input, context, signal) =>
    attempt(input.path ?? '.', signal, () => findFiles(input, context, signal)),
});

async function findFiles(input: Input, context: ToolContext, signal: AbortSignal): Promise<ToolOutput> {
  const { pattern, path = '.', limit = DEFAULT_LIMIT } = input;
  const filter = parsePathFilter(pattern);
  if (typeof filter === 'string') return errorOutput(filter);
  const directory = await context.resolve(absolutePath(path, context.cwd), 'read');
  if (!(await stat(directory)).isDirectory())
    return errorOutput(`${path} is a file. Use read to see its content, or name a directory.`);
  const { files, more } = await collect(
    directory,
    filter,
    Math.min(limit, MAX_LIMIT),
    searchEnvironment(context),
    signal,
  );
  if (files.length === 0) {
    const text = `No file matches ${pattern}. Hidden and ignored files were not searched.`;
    return textOutput(`find ${pattern}: nothing`, text, { files: 0, more });
  }
  const note = `[there are more: narrow the pattern, name a directory, or raise limit (${MAX_LIMIT} at most)]`;
  const lines = [...files.map((file) => join(path, file)), ...(more ? [note] : [])];
  const summary = `find ${pattern}: ${more ? 'first ' : ''}${formatCount(files.length, 'file')}`;
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
    if (files.length === limit || length > MAX_LENGTH) return { files, more: true };
    files.push(file);
    length += file.length;
  }
  return { files, more: false };
}
