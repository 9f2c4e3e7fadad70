import type { Files, OpenFile } from './files.ts';
import { recordIn, verifyLine } from './line.ts';

/**
 * A line of a log and where it stands: from `offset` up to `end`, newline included. A line that cannot be trusted has no
 * text, so that nobody serves it by mistake: `corrupt` bytes, or a `torn` line at the end that lacks its newline.
 */
export type LogLine =
  | {
      readonly status: 'ok' | 'unverified';
      readonly text: string;
      readonly offset: number;
      readonly end: number;
    }
  | { readonly status: 'corrupt' | 'torn'; readonly offset: number; readonly end: number };

/** A part of a file, from a line's start on; `to` may be past the end. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

export const WHOLE: Range = { from: 0, to: Number.POSITIVE_INFINITY };

const NEWLINE = 10;
const CHUNK = 256 * 1024;
const TAIL_CHUNK = 64 * 1024;
const NEAR = 8 * 1024;

/** The lines of a log in order, as many at a time as a read brings: a generator's step for each would cost more than the line. */
export async function* readLines(
  files: Files,
  path: string,
  { from, to }: Range = WHOLE,
): AsyncGenerator<readonly LogLine[]> {
  const file = files.openToRead(path);
  try {
    // An unfinished line is kept in pieces and joined once: joining at every chunk is quadratic in a long line.
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
      const whole = joined([...pieces, chunk.subarray(0, last + 1)]);
      pieces = last + 1 < chunk.length ? [chunk.subarray(last + 1)] : [];
      yield linesIn(whole, offset);
      offset += whole.length;
    }
    if (pieces.length > 0) yield linesIn(joined(pieces), offset);
  } finally {
    file.close();
  }
}

/** The last lines of a log in order, `count` of them or all there are, without reading what stands before. */
export async function readTail(
  files: Files,
  path: string,
  count: number,
  { from, to }: Range = WHOLE,
): Promise<readonly LogLine[]> {
  const file = files.openToRead(path);
  try {
    const end = Math.min(to, file.state().size);
    const chunks: Uint8Array[] = [];
    let position = end;
    // The newline that ends the last line belongs to it, hence one more than there are lines.
    for (let newlines = 0; position > from && newlines <= count; ) {
      const length = Math.min(TAIL_CHUNK, position - from);
      const chunk = await readChunk(file, position - length, length);
      if (chunk.length < length) break;
      position -= length;
      chunks.push(chunk);
      newlines += countNewlines(chunk);
    }
    const bytes = joined(chunks.toReversed());
    const start = startOfTail(bytes, count, position === from);
    return linesIn(bytes.subarray(start), position + start);
  } finally {
    file.close();
  }
}

/** Some whole lines after a place that need not be a line's start: those of one read, or of more while there is none. */
export async function readLinesNear(
  files: Files,
  path: string,
  { from, to }: Range,
): Promise<readonly LogLine[]> {
  const file = files.openToRead(path);
  try {
    for (let length = NEAR; ; length *= 4) {
      const bytes = await readChunk(file, from, Math.min(length, to - from));
      const start = bytes.indexOf(NEWLINE) + 1;
      const end = bytes.lastIndexOf(NEWLINE) + 1;
      if (start > 0 && end > start) return linesIn(bytes.subarray(start, end), from + start);
      if (bytes.length < length) return [];
    }
  } finally {
    file.close();
  }
}

/** The line that a file begins with; undefined if the file is empty. One that is too long to be a header is `torn`. */
export async function readFirstLine(files: Files, path: string): Promise<LogLine | undefined> {
  const file = files.openToRead(path);
  try {
    const bytes = await readChunk(file, 0, TAIL_CHUNK);
    if (bytes.length === 0) return undefined;
    const newline = bytes.indexOf(NEWLINE);
    return lineIn(bytes.subarray(0, newline === -1 ? bytes.length : newline), 0, newline !== -1);
  } finally {
    file.close();
  }
}

/** All lines in bytes that begin with a line's start. */
function linesIn(bytes: Uint8Array, offset: number): readonly LogLine[] {
  const lines: LogLine[] = [];
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline === -1 ? bytes.length : newline;
    lines.push(lineIn(bytes.subarray(start, end), offset + start, newline !== -1));
    start = end + 1;
  }
  return lines;
}

function lineIn(bytes: Uint8Array, offset: number, isWhole: boolean): LogLine {
  if (!isWhole) return { status: 'torn', offset, end: offset + bytes.length };
  const end = offset + bytes.length + 1;
  const status = verifyLine(bytes);
  if (status === 'corrupt') return { status, offset, end };
  return { status, text: status === 'ok' ? recordIn(bytes) : textOf(bytes), offset, end };
}

function startOfTail(bytes: Uint8Array, count: number, isAllThereIs: boolean): number {
  // A torn end counts as a line as well: the search for line ends begins before the last byte either way.
  let start = bytes.length;
  for (let found = 0; found < count && start > 0; found += 1) {
    const newline = start === 1 ? -1 : bytes.lastIndexOf(NEWLINE, start - 2);
    if (newline === -1) return isAllThereIs ? 0 : start;
    start = newline + 1;
  }
  return start;
}

async function readChunk(file: OpenFile, position: number, length: number): Promise<Buffer> {
  const target = Buffer.allocUnsafe(length);
  return target.subarray(0, await file.read(target, position));
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
}

function countNewlines(bytes: Uint8Array): number {
  let count = 0;
  for (let next = bytes.indexOf(NEWLINE); next !== -1; next = bytes.indexOf(NEWLINE, next + 1)) count += 1;
  return count;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
}
