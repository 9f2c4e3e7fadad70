import { basename, join } from 'node:path';
import { PolypodError, systemCodeOf } from '../../base/index.ts';
import {
  type Files,
  fileFailure,
  findLine,
  type LogLine,
  type Range,
  readLines,
  readTail,
} from '../../store/index.ts';
import { isRest, seqIn } from './record.ts';

/** One file of a feed: its path, the first number that it can contain, and its readable part. */
export interface Segment {
  readonly path: string;
  readonly firstSeq: number;
  readonly range: Range;
}

const DIGITS = 16;
/** Larger than any header. */
const HEADER_BYTES = 1024;
const NAME = /^\d{16}\.jsonl$/;
/** Nothing appends to it any more, so all of it is readable. */
const WHOLE: Range = { from: 0, to: Number.POSITIVE_INFINITY };

/** The segment that starts with a number. File names sort in number order. */
export function segmentAt(directory: string, firstSeq: number, range: Range = WHOLE): Segment {
  return { path: join(directory, `${String(firstSeq).padStart(DIGITS, '0')}.jsonl`), firstSeq, range };
}

/** The segments in a directory in order; none if the directory does not exist. */
export function segmentsIn(files: Files, directory: string): readonly Segment[] {
  try {
    const names = files.list(directory).filter((name) => NAME.test(name));
    const firstSeqs = names.map((name) => Number(name.slice(0, DIGITS)));
    return firstSeqs.toSorted((one, other) => one - other).map((firstSeq) => segmentAt(directory, firstSeq));
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return [];
    throw fileFailure(directory, 'list', error);
  }
}

/** The events of a segment with greater numbers, in order, one batch per read. */
export async function* eventsIn(
  files: Files,
  segment: Segment,
  after: number,
): AsyncGenerator<readonly string[]> {
  const range = after < segment.firstSeq ? segment.range : await rangeAfter(files, segment, after);
  try {
    for await (const lines of readLines(files, segment.path, range)) {
      const events = eventsOf(lines, segment);
      if (events.length > 0) yield events;
    }
  } catch (error) {
    throw readFailure(segment, error);
  }
}

/** The last `count` events of a segment, or all of them, in order. */
export async function lastEventsIn(
  files: Files,
  segment: Segment,
  count: number,
): Promise<readonly string[]> {
  // Reads one line more, then twice as many and so on, because close records can occur between events.
  for (let length = count + 1; ; length *= 2) {
    const lines = await tailOf(files, segment, length);
    const events = eventsOf(lines, segment);
    if (events.length >= count || lines.length < length) return events.slice(-count);
  }
}

/** The last line of a segment, if its checksum is valid. */
export async function lastTextIn(files: Files, segment: Segment): Promise<string | undefined> {
  const [line] = await tailOf(files, segment, 1);
  return line === undefined ? undefined : textOf(line);
}

/** Whether any line is valid. Only a power cut right after the file was created leaves a file without one. */
export async function hasText(files: Files, segment: Segment): Promise<boolean> {
  try {
    for await (const lines of readLines(files, segment.path))
      if (lines.some((line) => textOf(line) !== undefined)) return true;
    return false;
  } catch (error) {
    throw readFailure(segment, error);
  }
}

/** Whether its first line is damaged. */
export async function isHeaderDamaged(files: Files, segment: Segment): Promise<boolean> {
  try {
    const beginning = { from: 0, to: HEADER_BYTES };
    for await (const [first] of readLines(files, segment.path, beginning)) return first?.status === 'corrupt';
    return false;
  } catch (error) {
    throw readFailure(segment, error);
  }
}

/** The offset of the first record with a greater number, or the end of the segment. */
export async function offsetAfter(files: Files, { path, range }: Segment, seq: number): Promise<number> {
  return await findLine(files, path, { key: seq + 1, keyOf: seqIn, range });
}

/** The part with greater numbers. Rejects if a line may be missing at its start, so that no event is skipped unnoticed. */
async function rangeAfter(files: Files, segment: Segment, after: number): Promise<Range> {
  try {
    const from = await offsetAfter(files, segment, after);
    const [before] = await readTail(files, segment.path, 1, { from: segment.range.from, to: from });
    if (before !== undefined && textOf(before) === undefined) throw damaged(segment, before);
    return { from, to: segment.range.to };
  } catch (error) {
    throw readFailure(segment, error);
  }
}

async function tailOf(files: Files, segment: Segment, count: number): Promise<readonly LogLine[]> {
  try {
    return await readTail(files, segment.path, count, segment.range);
  } catch (error) {
    throw readFailure(segment, error);
  }
}

/** The events among lines, without the header and close records. */
function eventsOf(lines: readonly LogLine[], segment: Segment): readonly string[] {
  const events: string[] = [];
  for (const line of lines) {
    const text = textOf(line);
    const isEvent = text !== undefined && seqIn(text) !== undefined;
    if (isEvent && !isRest(text)) events.push(text);
    else if (text === undefined || (!isEvent && line.offset > 0)) throw damaged(segment, line);
  }
  return events;
}

function textOf(line: LogLine): string | undefined {
  return line.status === 'ok' || line.status === 'unverified' ? line.text : undefined;
}

function damaged({ path }: Segment, { offset }: LogLine): PolypodError {
  return new PolypodError(
    'conflict',
    `${basename(path)} is damaged at byte ${offset}: the events from there on cannot be read. Watch from now on instead.`,
  );
}

/** A missing segment was the oldest one, and was removed while a reader was about to open it. */
function readFailure({ path, firstSeq }: Segment, error: unknown): PolypodError {
  if (systemCodeOf(error) === 'ENOENT') return removedEventsError(firstSeq);
  return fileFailure(path, 'read', error);
}

export function removedEventsError(seq: number): PolypodError {
  return new PolypodError(
    'not-found',
    `the events from number ${seq} on are no longer available. Watch from now on instead.`,
  );
}
