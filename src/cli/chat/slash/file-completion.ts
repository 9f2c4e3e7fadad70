import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Choice, Completion } from '../../../terminal/index.ts';
import { fuzzyPaths } from './fuzzy-paths.ts';

/** A file that is mentioned in the input as `@path` or `@"path"`, up to the cursor. */
export interface Mention {
  /** The offset of the `@`. */
  readonly from: number;
  readonly path: string;
}

/** Finds the mention that ends at the cursor; a quoted one may contain spaces. */
export function mentionBefore(typed: string): Mention | undefined {
  const match = /(?:^|\s)@(?:"([^"\n]*)|([^\s"]*))$/.exec(typed);
  if (match === null) return undefined;
  const [whole, quoted, plain] = match;
  return { from: match.index + whole.indexOf('@'), path: quoted ?? plain ?? '' };
}

const MOST = 50;

/**
 * Completes the path of a file: first the entries of the directory that is being typed, then files and
 * directories anywhere below `cwd`. Hidden files only if a dot was typed.
 */
export function fileCompletion(
  { from, path }: Mention,
  cwd: string,
  files: readonly string[],
): Completion | undefined {
  const isListing = path === '' || path.endsWith('/') || /^[/~.]/.test(path);
  const found = [
    ...entriesStarting(path, cwd),
    ...(isListing ? [] : fuzzyPaths(path, withDirectories(files), MOST)),
  ];
  const choices = [...new Set(found)].filter(isMentionable).slice(0, MOST).map(choiceFor);
  return choices.length === 0 ? undefined : { from, eager: true, choices };
}

function choiceFor(path: string): Choice {
  const isFolder = path.endsWith('/');
  const folder = dirname(path);
  return {
    label: `${basename(path)}${isFolder ? '/' : ''}`,
    detail: folder === '.' ? '' : folder,
    insert: mentionOf(path, isFolder),
  };
}

/** A directory stays open, so that the next completion continues in it. */
function mentionOf(path: string, isFolder: boolean): string {
  const quoted = /\s/.test(path);
  const start = quoted ? `@"${path}` : `@${path}`;
  return isFolder ? start : `${start}${quoted ? '"' : ''} `;
}

/** A name with a quote or a control character cannot be written as a mention. */
function isMentionable(path: string): boolean {
  return !/["\p{Cc}]/u.test(path);
}

function withDirectories(files: readonly string[]): readonly string[] {
  const directories = new Set<string>();
  for (const file of files)
    for (let end = file.lastIndexOf('/'); end > 0; end = file.lastIndexOf('/', end - 1)) {
      const directory = file.slice(0, end + 1);
      if (directories.has(directory)) break;
      directories.add(directory);
    }
  return [...directories, ...files];
}

function entriesStarting(path: string, cwd: string): readonly string[] {
  const folder = path.slice(0, path.lastIndexOf('/') + 1);
  const start = path.slice(folder.length);
  const directory = folder.startsWith('~/')
    ? join(homedir(), folder.slice(2))
    : folder.startsWith('/')
      ? folder
      : join(cwd, folder);
  return entriesOf(directory)
    .filter(({ name }) => name.startsWith(start) && (start.startsWith('.') || !name.startsWith('.')))
    .map(({ name, isFolder }) => `${folder}${name}${isFolder ? '/' : ''}`);
}

function entriesOf(folder: string): readonly { readonly name: string; readonly isFolder: boolean }[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }))
      .toSorted(
        (one, other) => Number(other.isFolder) - Number(one.isFolder) || (one.name < other.name ? -1 : 1),
      );
  } catch {
    // The directory does not exist or is not readable: nothing to complete.
    return [];
  }
}
