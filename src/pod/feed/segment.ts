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

/** One file of a feed: its path, the first number that it can hold, and the part of it that may be read. */
export interface Segment {
  readonly path: string;
  readonly firstSeq: number;
  readonly range: Range;
}

const DIGITS = 16;
/** More than any header takes. */
const HEADER_BYTES = 1024;
const NAME = /^\d{16}\.jsonl$/;
/** Nothing is written to it any more, so all of it may be read. */
const WHOLE: Range = { from: 0, to: Number.POSITIVE_INFINITY };

/** The segment that begins with a number; by name they sort as by number. */
export function segmentAt(directory: string, firstSeq: number, range: Range = WHOLE): Segment {
  return { path: join(directory, `${String(firstSeq).padStart(DIGITS, '0')}.jsonl`), firstSeq, range };
}

/** The segments in a directory in order; none if there is no directory. */
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

/** The events of a segment with greater numbers, in order, as many at a time as a read brings. */
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

/** The last events of a segment in order, `count` of them or all there are. */
export async function lastEventsIn(
  files: Files,
  segment: Segment,
  count: number,
): Promise<readonly string[]> {
  // One line more than that, then twice as many and so on: a rest stands among the events now and then.
  for (let length = count + 1; ; length *= 2) {
    const lines = await tailOf(files, segment, length);
    const events = eventsOf(lines, segment);
    if (events.length >= count || lines.length < length) return events.slice(-count);
  }
}

/** The last line of a segment, if it can be trusted. */
export async function lastTextIn(files: Files, segment: Segment): Promise<string | undefined> {
  const [line] = await tailOf(files, segment, 1);
  return line === undefined ? undefined : textOf(line);
}

/** Whether any line of it can be trusted. Only the power cut that came right after its making leaves a file without one. */
export async function hasText(files: Files, segment: Segment): Promise<boolean> {
  try {
    for await (const lines of readLines(files, segment.path))
      if (lines.some((line) => textOf(line) !== undefined)) return true;
    return false;
  } catch (error) {
    throw readFailure(segment, error);
  }
}

/** Whether it begins with a line that is not what was written there. */
export async function isHeaderDamaged(files: Files, segment: Segment): Promise<boolean> {
  try {
    const beginning = { from: 0, to: HEADER_BYTES };
    for await (const [first] of readLines(files, segment.path, beginning)) return first?.status === 'corrupt';
    return false;
  } catch (error) {
    throw readFailure(segment, error);
  }
}

/** Where the first record with a greater number begins; the end of the segment if there is none. */
export async function offsetAfter(files: Files, { path, range }: Segment, seq: number): Promise<number> {
  return await findLine(files, path, { key: seq + 1, keyOf: seqIn, range });
}

/** The part with greater numbers. Refuses when a line may be missing at its start, so that none is skipped unnoticed. */
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

/** The events among lines: all but the header and the rests. */
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

/** A segment that is gone was the oldest one, and has been let go while somebody was on the way to it. */
function readFailure({ path, firstSeq }: Segment, error: unknown): PolypodError {
  if (systemCodeOf(error) === 'ENOENT') return noLongerKept(firstSeq);
  return fileFailure(path, 'read', error);
}

export function noLongerKept(seq: number): PolypodError {
  return new PolypodError(
    'not-found',
    `the events from number ${seq} on are no longer kept. Watch from now on instead.`,
  );
}
