import { wrongField } from '../errors.ts';
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

/** An event as it is sent to a client. */
export interface StreamEvent extends ProjectedEvent {
  /** The number of lines before `lines`, which the client received before the stream broke. */
  readonly skipped?: number;
}

/** The position after a line of an event; undefined for lines about the stream itself. */
export function lineId(
  { source, skipped = 0 }: StreamEvent,
  line: StreamLine,
  index: number,
): string | undefined {
  if (source === undefined) return undefined;
  return source.type === 'snapshot' ? String(line.seq) : `${source.seq}.${skipped + index}`;
}

/** Skips the lines that the client received before the stream broke. */
export function withoutReceived(
  events: readonly ProjectedEvent[],
  { seq, line }: StreamCursor,
): readonly StreamEvent[] {
  const at = events.findIndex(
    ({ source }) => source !== undefined && source.type !== 'snapshot' && source.seq === seq,
  );
  const event = events[at];
  if (line === undefined || event === undefined) return events;
  const rest = { ...event, lines: event.lines.slice(line + 1), skipped: line + 1 };
  return events.toSpliced(at, 1, ...(rest.lines.length === 0 ? [] : [rest]));
}
