import { wrongField } from './errors.ts';
import type { StreamLine } from './wire.ts';

/**
 * A place in a session's lines: after a whole event, or after some of its lines. One event may be told in several lines, and
 * a connection may break between two of them.
 */
export interface Cursor {
  readonly seq: number;
  /** The last line of the event that was seen, from 0; undefined for all of them. */
  readonly line?: number;
}

/** Reads `12`, or `12.1` as ids of events are. */
export function readCursor(text: string, field: string): Cursor {
  const [, seq, line] = /^(\d{1,15})(?:\.(\d{1,6}))?$/.exec(text) ?? [];
  if (seq === undefined) throw wrongField(field, 'must be a number of an event, such as 12 or 12.1');
  return { seq: Number(seq), ...(line !== undefined && { line: Number(line) }) };
}

/** The last event that is certain to have been seen as a whole. */
export function afterOf({ seq, line }: Cursor): number {
  return line === undefined ? seq : Math.max(0, seq - 1);
}

/** A line and its place; lines that stand for no event have none. */
export interface PlacedLine {
  readonly line: StreamLine;
  readonly id: string | undefined;
}

/** Gives lines their places, and leaves out those that were seen before. */
export async function* placed(
  lines: AsyncIterable<StreamLine>,
  from: Cursor | undefined,
): AsyncGenerator<PlacedLine> {
  let seq: number | undefined;
  let index = 0;
  for await (const line of lines) {
    if (line.seq === undefined || line.event === 'snapshot') {
      yield { line, id: line.seq === undefined ? undefined : String(line.seq) };
      continue;
    }
    index = line.seq === seq ? index + 1 : 0;
    seq = line.seq;
    const isSeen = from?.line !== undefined && seq === from.seq && index <= from.line;
    if (!isSeen) yield { line, id: `${seq}.${index}` };
  }
}
