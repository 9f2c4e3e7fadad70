import { wrongField } from '../errors.ts';
import { oncePer } from './once-per.ts';
import type { ProjectedEvent } from '../settings.ts';
import type { StreamLine } from '../wire.ts';

/**
 * A place in a session's lines: after a whole event, or after some of its lines. One event may be told in several lines, and
 * a connection may break between two of them.
 */
export interface Cursor {
  readonly seq: number;
  /** The last line of the event that was seen, from 0; undefined for all of them. */
  readonly line?: number;
}

/** As JSON Schema has it. */
export const CURSOR_PATTERN = '^(\\d{1,15})(?:\\.(\\d{1,6}))?$';

/** Reads `12`, or `12.1` as ids of events are. */
export function readCursor(text: string, field: string): Cursor {
  const [, seq, line] = new RegExp(CURSOR_PATTERN).exec(text) ?? [];
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
  /** Which of its event's lines it is, from 0. */
  readonly index: number | undefined;
}

/** Lines that are sent together: those of one or more whole events, or something about the stream itself. */
export type LineBatch = readonly PlacedLine[];

/** The lines of events with their ids, once for all clients that get the same events. */
export const placed = oncePer((events: readonly ProjectedEvent[]): LineBatch => {
  const batch: PlacedLine[] = [];
  for (const { source, lines } of events)
    for (const [index, line] of lines.entries())
      if (source === undefined) batch.push({ line, id: undefined, index: undefined });
      else if (source.type === 'snapshot') batch.push({ line, id: String(line.seq), index: undefined });
      else batch.push({ line, id: `${source.seq}.${index}`, index });
  return batch;
});

/** Leaves out what was seen before: lines of the event in which the stream broke off. */
export function unseen(batch: LineBatch, { seq, line: lastSeen = -1 }: Cursor): LineBatch {
  const isSeen = ({ line, index = Infinity }: PlacedLine): boolean => line.seq === seq && index <= lastSeen;
  return batch.some(isSeen) ? batch.filter((one) => !isSeen(one)) : batch;
}
