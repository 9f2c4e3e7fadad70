import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { PolypodError } from '../../base/index.ts';
import { readBytes, startsWithBom } from '../files/file-content.ts';
import { LineMatcher, type LinePattern } from './line-matcher.ts';
import { filterOptions, passesFilter } from './list-files.ts';
import type { PathFilter } from './path-filter.ts';
import { type Ripgrep, findRipgrep, ripgrepRecords } from './ripgrep.ts';
import { walk } from './walk.ts';

/** What to search for, and where. */
export interface Search extends LinePattern {
  /** A real directory. */
  readonly directory: string;
  /** The single file to search, or a filter for those below the directory. */
  readonly files: { readonly name: string } | PathFilter;
  /** How many lines around a match are returned. */
  readonly context: number;
}

/** A line with a match, or one near it. */
export interface FoundLine {
  /** Relative to the search directory. */
  readonly path: string;
  /** Starts at 1. */
  readonly number: number;
  readonly text: string;
  readonly matches: boolean;
}

/** Returns the matching lines, file by file in a fixed order. Throws `bad-request` for an invalid pattern. */
export async function* searchLines(
  search: Search,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): AsyncGenerator<FoundLine> {
  const rg = await findRipgrep(search.directory, env);
  const { files } = search;
  const lines =
    rg === undefined ? searchWithoutRipgrep(search, signal) : searchWithRipgrep(rg, search, signal);
  for await (const line of lines) if ('name' in files || passesFilter(line.path, files)) yield line;
}

async function* searchWithRipgrep(
  rg: Ripgrep,
  search: Search,
  signal: AbortSignal,
): AsyncGenerator<FoundLine> {
  const { pattern, literal, ignoreCase, context, files } = search;
  const args = [
    '--line-number',
    '--with-filename',
    '--no-heading',
    '--crlf',
    // Longer lines are cut later anyway.
    '--max-columns=2000',
    '--max-columns-preview',
    ...(literal ? ['--fixed-strings'] : []),
    ignoreCase ? '--ignore-case' : '--case-sensitive',
    `--context=${context}`,
    ...('name' in files ? [] : filterOptions(files)),
    `--regexp=${pattern}`,
    '--',
    'name' in files ? `./${files.name}` : './',
  ];
  for await (const record of ripgrepRecords(rg, args, '\n', signal)) {
    // Everything else is a separator between groups, or a note about a binary file.
    const [, path, number, sign, text = ''] = /^\.\/([^\0]*)\0(\d+)([:-])(.*)$/s.exec(record) ?? [];
    if (path !== undefined)
      yield { path, number: Number(number), text: text.replace(/\r$/, ''), matches: sign === ':' };
  }
}

/** Searches without ripgrep. */
async function* searchWithoutRipgrep(search: Search, signal: AbortSignal): AsyncGenerator<FoundLine> {
  // A line contains no line break; ripgrep reports the same error.
  if (search.pattern.includes('\n'))
    throw new PolypodError('bad-request', 'it contains a line break, but lines are searched one by one');
  const matcher = new LineMatcher(search);
  try {
    for await (const texts of fileBatches(search, signal)) {
      const found = await matcher.match(
        texts.map(({ text }) => text),
        signal,
      );
      for (const [index, { path, text }] of texts.entries()) {
        for (const line of linesAround(text, found[index] ?? [], search.context)) yield { path, ...line };
      }
    }
  } finally {
    await matcher.close();
  }
}

interface FileText {
  readonly path: string;
  readonly text: string;
}

/** Several files at a time: a message to the thread per file costs more than the search. */
async function* fileBatches(search: Search, signal: AbortSignal): AsyncGenerator<readonly FileText[]> {
  let [batch, length]: [FileText[], number] = [[], 0];
  for await (const path of searchPaths(search, signal)) {
    const text = await readFileText(join(search.directory, path), signal);
    if (text === undefined) continue;
    batch.push({ path, text });
    length += text.length;
    if (length < BATCH_LENGTH && batch.length < BATCH_FILES) continue;
    yield batch;
    [batch, length] = [[], 0];
  }
  yield batch;
}

async function* searchPaths({ directory, files }: Search, signal: AbortSignal): AsyncGenerator<string> {
  if ('name' in files) yield files.name;
  else for await (const path of walk(directory, files, signal)) if (passesFilter(path, files)) yield path;
}

/** Returns undefined for a file that is not text or not readable, which the search skips. */
async function readFileText(file: string, signal: AbortSignal): Promise<string | undefined> {
  signal.throwIfAborted();
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    if (!(await handle.stat()).isFile()) return undefined;
    const bytes = await readBytes(handle, MAX_FILE_BYTES, signal);
    if (bytes.subarray(0, 64 * 1024).includes(0)) return undefined;
    return bytes.toString('utf8', startsWithBom(bytes) ? 3 : 0);
  } finally {
    await handle.close();
  }
}

/** Returns the lines with these indexes and those around them, each once. */
function* linesAround(
  text: string,
  found: readonly number[],
  context: number,
): Generator<Omit<FoundLine, 'path'>> {
  if (found.length === 0) return;
  const lines = text.replace(/\n$/, '').split('\n');
  let next = 0;
  for (const [index, match] of found.entries()) {
    const first = Math.max(next, match - context);
    const last = Math.min(match + context, (found[index + 1] ?? lines.length) - 1);
    for (let line = first; line <= last; line += 1)
      yield { number: line + 1, text: (lines[line] ?? '').replace(/\r$/, ''), matches: line === match };
    next = last + 1;
  }
}

const BATCH_LENGTH = 1_000_000;
const BATCH_FILES = 64;
/** Only this much of larger files is searched. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;
