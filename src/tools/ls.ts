import type { Dirent } from 'node:fs';
import { lstat, opendir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { shape } from '../base/index.ts';
import { attempt } from './attempt.ts';
import { counted, oneLine, sized } from './text/shorten.ts';
import { absolutePath, pathArgument } from './path-argument.ts';
import { descriptorPath, openReal, placeOf } from './files/real-file.ts';
import { defineTool, errorOutput, type ToolOutput, type ToolSurroundings, textOutput } from './tool.ts';

const DEFAULT_LIMIT = 500;
const MOST = 5_000;
/** More names than that are not even sorted. */
const MOST_NAMES = 100_000;

const input = shape.fields(
  {},
  {
    path: pathArgument('The directory; the working directory if not given. ~ is not expanded.'),
    limit: shape.described(
      shape.count(1),
      `How many entries to list: ${DEFAULT_LIMIT} if not given, ${MOST} at most.`,
    ),
  },
);
type Input = shape.ValueOf<typeof input>;

export const ls = defineTool({
  name: 'ls',
  description:
    'Lists what is in a directory by name, hidden and ignored files included: directories end with /, files have their size, links are shown as name@ -> target.',
  input,
  parallel: true,
  access: ({ path = '.' }, cwd) => [{ type: 'read', path: absolutePath(path, cwd) }],
  title: ({ path = '.' }) => oneLine(`ls ${path}`),
  run: (wanted, around, signal) =>
    attempt(wanted.path ?? '.', signal, () => listDirectory(wanted, around, signal)),
});

async function listDirectory(
  { path = '.', limit = DEFAULT_LIMIT }: Input,
  around: ToolSurroundings,
  signal: AbortSignal,
): Promise<ToolOutput> {
  const handle = await openReal(absolutePath(path, around.cwd), around.resolve);
  try {
    if (!(await handle.stat()).isDirectory())
      return errorOutput(`${path} is a file. Use read to see what is in it.`);
    const place = await placeOf(handle);
    const directory =
      place === undefined
        ? await around.resolve(absolutePath(path, around.cwd), 'read')
        : descriptorPath(handle);
    const { entries, isAll } = await entriesOf(directory, signal);
    const shown = entries.slice(0, Math.min(limit, MOST));
    const lines = await Promise.all(shown.map((entry) => entryText(directory, entry)));
    signal.throwIfAborted();
    return outputOf(path, lines, entries.length, isAll);
  } finally {
    await handle.close();
  }
}

async function entriesOf(
  directory: string,
  signal: AbortSignal,
): Promise<{ readonly entries: readonly Dirent[]; readonly isAll: boolean }> {
  const entries: Dirent[] = [];
  for await (const entry of await opendir(directory, { bufferSize: 1_000 })) {
    signal.throwIfAborted();
    if (entries.length === MOST_NAMES) return { entries: sorted(entries), isAll: false };
    entries.push(entry);
  }
  return { entries: sorted(entries), isAll: true };
}

function sorted(entries: readonly Dirent[]): readonly Dirent[] {
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

async function entryText(directory: string, entry: Dirent): Promise<string> {
  const name = oneLine(entry.name, 255);
  if (entry.isDirectory()) return `${name}/`;
  try {
    if (entry.isSymbolicLink())
      return `${name}@ -> ${oneLine(await readlink(join(directory, entry.name)), 255)}`;
    if (entry.isFile()) return `${name}  ${sized((await lstat(join(directory, entry.name))).size)}`;
  } catch {
    // Gone since the directory was read.
    return name;
  }
  return `${name}  (not a regular file)`;
}

function outputOf(path: string, lines: readonly string[], total: number, isAll: boolean): ToolOutput {
  if (total === 0) return textOutput(`${path}: empty`, `${path} is an empty directory.`, { entries: 0 });
  const amount = `${isAll ? '' : 'more than '}${counted(total, 'entry', 'entries')}`;
  const isCut = lines.length < total || !isAll;
  const note = `[the first ${lines.length} of ${amount}; raise limit (${MOST} at most), or use find with a pattern]`;
  const text = [...lines, ...(isCut ? [note] : [])].join('\n');
  return textOutput(`${path}: ${amount}`, text, { entries: total, shown: lines.length });
}
