import type { Files, OpenFile } from './files.ts';
import { unsealRecord, verifyLine } from './line.ts';

/**
 * A line of a log with its position, from `offset` to `end` including the newline. An invalid line has no text, so that it
 * cannot be served by mistake: it is `corrupt`, or a `torn` line at the end without a newline.
 */
export type LogLine =
  | {
      readonly status: 'ok' | 'unverified';
      readonly text: string;
      readonly offset: number;
      readonly end: number;
    }
  | { readonly status: 'corrupt' | 'torn'; readonly offset: number; readonly end: number };

/** A part of a file that starts at the start of a line; `to` may be past the end. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

export const ENTIRE_FILE: Range = { from: 0, to: Number.POSITIVE_INFINITY };

const NEWLINE = 10;
const CHUNK = 256 * 1024;
const TAIL_CHUNK = 64 * 1024;
const NEAR_CHUNK = 8 * 1024;

/** Reads the lines of a log in order, in batches of one read each: a generator step per line would cost more than the line. */
export async function* readLines(
  files: Files,
  path: string,
  { from, to }: Range = ENTIRE_FILE,
): AsyncGenerator<readonly LogLine[]> {
  const file = files.openToRead(path);
  try {
    // The pieces of a long line are joined once: joining them at every chunk would be quadratic.
    let pieces: Uint8Array[] = [];
    let offset = from;
    for (let position = from; position < to; ) {
      const chunk = await readChunk(file, position, Math.min(CHUNK, to - position));
      if (chunk.length === 0) break;
      position += chunk.length;
      const last = chunk.lastIndexOf(NEWLINE);
      if (last === -1) {
        pieces.push(chunk);
        continue;
      }
      const complete = concat([...pieces, chunk.subarray(0, last + 1)]);
      pieces = last + 1 < chunk.length ? [chunk.subarray(last + 1)] : [];
      yield parseLines(complete, offset);
      offset += complete.length;
    }
    if (pieces.length > 0) yield parseLines(concat(pieces), offset);
  } finally {
    file.close();
  }
}

/** Reads the last `count` lines of a log in order, without reading the lines before. */
export async function readTail(
  files: Files,
  path: string,
  count: number,
  { from, to }: Range = ENTIRE_FILE,
): Promise<readonly LogLine[]> {
  const file = files.openToRead(path);
  try {
    const end = Math.min(to, file.state().size);
    const chunks: Uint8Array[] = [];
    let position = end;
    // The last line ends with a newline, hence one newline more than lines.
    for (let newlines = 0; position > from && newlines <= count; ) {
      const length = Math.min(TAIL_CHUNK, position - from);
      const chunk = await readChunk(file, position - length, length);
      if (chunk.length < length) break;
      position -= length;
      chunks.push(chunk);
      newlines += countNewlines(chunk);
    }
    const bytes = concat(chunks.toReversed());
    const start = startOfTail(bytes, count, position === from);
    return parseLines(bytes.subarray(start), position + start);
  } finally {
    file.close();
  }
}

/** Reads some complete lines after an offset that need not be the start of a line. Reads more until there is at least one. */
export async function readLinesAfter(
  files: Files,
  path: string,
  { from, to }: Range,
): Promise<readonly LogLine[]> {
  const file = files.openToRead(path);
  try {
    for (let length = NEAR_CHUNK; ; length *= 4) {
      const bytes = await readChunk(file, from, Math.min(length, to - from));
      const start = bytes.indexOf(NEWLINE) + 1;
      const end = bytes.lastIndexOf(NEWLINE) + 1;
      if (start > 0 && end > start) return parseLines(bytes.subarray(start, end), from + start);
      if (bytes.length < length) return [];
    }
  } finally {
    file.close();
  }
}

/** Reads the first line of a file; undefined if the file is empty. A line that is too long for a header is `torn`. */
export async function readFirstLine(files: Files, path: string): Promise<LogLine | undefined> {
  const file = files.openToRead(path);
  try {
    const bytes = await readChunk(file, 0, TAIL_CHUNK);
    if (bytes.length === 0) return undefined;
    const newline = bytes.indexOf(NEWLINE);
    return parseLine(bytes.subarray(0, newline === -1 ? bytes.length : newline), 0, newline !== -1);
  } finally {
    file.close();
  }
}

/** Parses all lines in bytes that start at the start of a line. */
function parseLines(bytes: Uint8Array, offset: number): readonly LogLine[] {
  const lines: LogLine[] = [];
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline === -1 ? bytes.length : newline;
    lines.push(parseLine(bytes.subarray(start, end), offset + start, newline !== -1));
    start = end + 1;
  }
  return lines;
}

function parseLine(bytes: Uint8Array, offset: number, isComplete: boolean): LogLine {
  if (!isComplete) return { status: 'torn', offset, end: offset + bytes.length };
  const end = offset + bytes.length + 1;
  const status = verifyLine(bytes);
  if (status === 'corrupt') return { status, offset, end };
  return { status, text: status === 'ok' ? unsealRecord(bytes) : lineText(bytes), offset, end };
}

function startOfTail(bytes: Uint8Array, count: number, isFileStart: boolean): number {
  // A torn line at the end counts as a line: in either case the search for newlines starts before the last byte.
  let start = bytes.length;
  for (let found = 0; found < count && start > 0; found += 1) {
    const newline = start === 1 ? -1 : bytes.lastIndexOf(NEWLINE, start - 2);
    if (newline === -1) return isFileStart ? 0 : start;
    start = newline + 1;
  }
  return start;
}

async function readChunk(file: OpenFile, position: number, length: number): Promise<Buffer> {
  const target = Buffer.allocUnsafe(length);
  return target.subarray(0, await file.read(target, position));
}

function concat(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
}

function countNewlines(bytes: Uint8Array): number {
  let count = 0;
  for (let next = bytes.indexOf(NEWLINE); next !== -1; next = bytes.indexOf(NEWLINE, next + 1)) count += 1;
  return count;
}

function lineText(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}
