import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { PolypodError } from '../../base/index.ts';
import { readBytes, startsWithMark } from '../files/file-content.ts';
import { LineMatcher, type LinePattern } from './line-matcher.ts';
import { filterOptions, isWanted } from './list-files.ts';
import type { PathFilter } from './path-filter.ts';
import { type Ripgrep, ripgrepIn, ripgrepRecords } from './ripgrep.ts';
import { walk } from './walk.ts';

/** What to look for, and where. */
export interface Search extends LinePattern {
  /** A real directory. */
  readonly directory: string;
  /** The one file of it that is searched, or which of those below it are. */
  readonly files: { readonly name: string } | PathFilter;
  /** How many lines around a match are told. */
  readonly context: number;
}

/** A line with a match, or one near it. */
export interface FoundLine {
  /** From the search's directory on. */
  readonly path: string;
  /** The first of the file is 1. */
  readonly number: number;
  readonly text: string;
  readonly matches: boolean;
}

/** The lines that fit, file by file in a fixed order. Throws `bad-request` for a pattern that cannot be read. */
export async function* searchLines(
  search: Search,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): AsyncGenerator<FoundLine> {
  const rg = await ripgrepIn(search.directory, env);
  const { files } = search;
  const lines = rg === undefined ? searchAlone(search, signal) : searchWithRipgrep(rg, search, signal);
  for await (const line of lines) if ('name' in files || isWanted(line.path, files)) yield line;
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
    // Longer ones are cut later anyway.
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
    // All else is a line between groups, or a remark on a binary file.
    const [, path, number, sign, text = ''] = /^\.\/([^\0]*)\0(\d+)([:-])(.*)$/s.exec(record) ?? [];
    if (path !== undefined)
      yield { path, number: Number(number), text: text.replace(/\r$/, ''), matches: sign === ':' };
  }
}

/** The same without ripgrep. */
async function* searchAlone(search: Search, signal: AbortSignal): AsyncGenerator<FoundLine> {
  // A line has no line break in it; ripgrep says the same.
  if (search.pattern.includes('\n'))
    throw new PolypodError(
      'bad-request',
      'a line break cannot be part of it, for lines are searched one by one',
    );
  const matcher = new LineMatcher(search);
  try {
    for await (const texts of batches(search, signal)) {
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

/** Some files at a time: asking the thread for each one costs more than the search. */
async function* batches(search: Search, signal: AbortSignal): AsyncGenerator<readonly FileText[]> {
  let [batch, length]: [FileText[], number] = [[], 0];
  for await (const path of pathsOf(search, signal)) {
    const text = await textOf(join(search.directory, path), signal);
    if (text === undefined) continue;
    batch.push({ path, text });
    length += text.length;
    if (length < BATCH_LENGTH && batch.length < BATCH_FILES) continue;
    yield batch;
    [batch, length] = [[], 0];
  }
  yield batch;
}

async function* pathsOf({ directory, files }: Search, signal: AbortSignal): AsyncGenerator<string> {
  if ('name' in files) yield files.name;
  else for await (const path of walk(directory, files, signal)) if (isWanted(path, files)) yield path;
}

/** Undefined for what is not text or cannot be read: the search goes on without it. */
async function textOf(file: string, signal: AbortSignal): Promise<string | undefined> {
  signal.throwIfAborted();
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return undefined;
  }
  try {
    if (!(await handle.stat()).isFile()) return undefined;
    const bytes = await readBytes(handle, MOST_FILE_BYTES, signal);
    if (bytes.subarray(0, 64 * 1024).includes(0)) return undefined;
    return bytes.toString('utf8', startsWithMark(bytes) ? 3 : 0);
  } finally {
    await handle.close();
  }
}

/** The lines with these indexes and those around them, each once. */
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
/** Of larger files only so much is searched. */
const MOST_FILE_BYTES = 16 * 1024 * 1024;
