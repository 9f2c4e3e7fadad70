import type { Dirent } from 'node:fs';
import { lstat, opendir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { shape } from '../base/index.ts';
import { attempt } from './attempt.ts';
import { formatCount, oneLine, formatBytes } from './text/shorten.ts';
import { absolutePath, pathArgument } from './path-argument.ts';
import { descriptorPath, openRealPath, openFilePath } from './files/real-file.ts';
import { defineTool, errorOutput, type ToolOutput, type ToolContext, textOutput } from './tool.ts';

const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 5_000;
/** Beyond this many names, the entries are not sorted. */
const MAX_NAMES = 100_000;

const input = shape.fields(
  {},
  {
    path: pathArgument('The directory; default: the working directory. ~ is not expanded.'),
    limit: shape.withDescription(
      shape.integerFrom(1),
      `How many entries to list: default ${DEFAULT_LIMIT}, at most ${MAX_LIMIT}.`,
    ),
  },
);
type Input = shape.ValueOf<typeof input>;

export const ls = defineTool({
  name: 'ls',
  description:
    'Lists the entries of a directory by name, including hidden and ignored files: directories end with /, files have their size, links are shown as name@ -> target.',
  input,
  parallel: true,
  access: ({ path = '.' }, cwd) => [{ type: 'read', path: absolutePath(path, cwd) }],
  title: ({ path = '.' }) => oneLine(`ls ${path}`),
  run: (input, context, signal) =>
    attempt(input.path ?? '.', signal, () => listDirectory(input, context, signal)),
});

async function listDirectory(
  { path = '.', limit = DEFAULT_LIMIT }: Input,
  context: ToolContext,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const handle = await openRealPath(absolutePath(path, context.cwd), context.resolve);
  try {
    if (!(await handle.stat()).isDirectory())
      return errorOutput(`${path} is a file. Use read to see its content.`);
    const openedPath = await openFilePath(handle);
    const directory =
      openedPath === undefined
        ? await context.resolve(absolutePath(path, context.cwd), 'read')
        : descriptorPath(handle);
    const { entries, isAll } = await listEntries(directory, signal);
    const visible = entries.slice(0, Math.min(limit, MAX_LIMIT));
    const lines = await Promise.all(visible.map((entry) => entryText(directory, entry)));
    signal.throwIfAborted();
    return toOutput(path, lines, entries.length, isAll);
  } finally {
    await handle.close();
  }
}

async function listEntries(
  directory: string,
  signal: AbortSignal,
): Promise<{ readonly entries: readonly Dirent[]; readonly isAll: boolean }> {
  const entries: Dirent[] = [];
  for await (const entry of await opendir(directory, { bufferSize: 1_000 })) {
    signal.throwIfAborted();
    if (entries.length === MAX_NAMES) return { entries: sortEntries(entries), isAll: false };
    entries.push(entry);
  }
  return { entries: sortEntries(entries), isAll: true };
}

function sortEntries(entries: readonly Dirent[]): readonly Dirent[] {
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

async function entryText(directory: string, entry: Dirent): Promise<string> {
  const name = oneLine(entry.name, 255);
  if (entry.isDirectory()) return `${name}/`;
  try {
    if (entry.isSymbolicLink())
      return `${name}@ -> ${oneLine(await readlink(join(directory, entry.name)), 255)}`;
    if (entry.isFile()) return `${name}  ${formatBytes((await lstat(join(directory, entry.name))).size)}`;
  } catch {
    // Deleted since the directory was read.
    return name;
  }
  return `${name}  (not a regular file)`;
}

function toOutput(path: string, lines: readonly string[], total: number, isAll: boolean): ToolOutput {
  if (total === 0) return textOutput(`${path}: empty`, `${path} is an empty directory.`, { entries: 0 });
  const amount = `${isAll ? '' : 'more than '}${formatCount(total, 'entry', 'entries')}`;
  const isCut = lines.length < total || !isAll;
  const note = `[the first ${lines.length} of ${amount}; raise limit (${MAX_LIMIT} at most), or use find with a pattern]`;
  const text = [...lines, ...(isCut ? [note] : [])].join('\n');
  return textOutput(`${path}: ${amount}`, text, { entries: total, shown: lines.length });
}
