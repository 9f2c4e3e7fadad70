import { wrongField } from '../errors.ts';
import { oncePer } from './once-per.ts';
import type { ProjectedEvent } from '../settings.ts';
import type { StreamLine } from '../wire.ts';

/**
 * A position in a session's lines: after a complete event, or after some of its lines. One event can have several lines, and a connection
 * can break between two of them.
 */
export interface StreamCursor {
  readonly seq: number;
  /** The index of the last line of the event that was received; undefined for all of them. */
  readonly line?: number;
}

/** As a pattern of JSON Schema. */
export const CURSOR_PATTERN = '^(\\d{1,15})(?:\\.(\\d{1,6}))?$';

/** Parses `12`, or `12.1` as in event ids. */
export function readCursor(text: string, field: string): StreamCursor {
  const [, seq, line] = new RegExp(CURSOR_PATTERN).exec(text) ?? [];
  if (seq === undefined) throw wrongField(field, 'must be a number of an event, such as 12 or 12.1');
  return { seq: Number(seq), ...(line !== undefined && { line: Number(line) }) };
}

/** The number of the last event that was certainly received completely. */
export function afterOf({ seq, line }: StreamCursor): number {
  return line === undefined ? seq : Math.max(0, seq - 1);
}

/** A line and its position. Lines without an event have none. */
export interface NumberedLine {
  readonly line: StreamLine;
  readonly id: string | undefined;
  /** The index of the line within its event. */
  readonly index: number | undefined;
}

/** Lines that are sent together: those of one or more complete events, or lines about the stream itself. */
export type LineBatch = readonly NumberedLine[];

/** The lines of events with their ids, created once for all clients that get the same events. */
export const numberLines = oncePer((events: readonly ProjectedEvent[]): LineBatch => {
  const batch: NumberedLine[] = [];
  for (const { source, lines } of events)
    for (const [index, line] of lines.entries())
      if (source === undefined) batch.push({ line, id: undefined, index: undefined });
      else if (source.type === 'snapshot') batch.push({ line, id: String(line.seq), index: undefined });
      else batch.push({ line, id: `${source.seq}.${index}`, index });
  return batch;
});

/** Skips the lines that the client received before the stream broke. */
export function linesAfter(batch: LineBatch, { seq, line: lastSeen = -1 }: StreamCursor): LineBatch {
  const isSeen = ({ line, index = Infinity }: NumberedLine): boolean => line.seq === seq && index <= lastSeen;
  return batch.some(isSeen) ? batch.filter((one) => !isSeen(one)) : batch;
}
