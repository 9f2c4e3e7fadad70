import { isObject, type JsonObject, numberOf, PolypodError, tryParse } from '../../base/index.ts';
import { verifyLine } from '../../store/index.ts';
import { isRow, type Row } from './row.ts';

const VERSION = 1;

/** The record that the file begins with. */
export const HEADER = JSON.stringify({ type: 'catalogue', version: VERSION });

/** A row was put, or removed. */
export interface Change {
  readonly id: string;
  /** Undefined when it was removed. */
  readonly row: Row | undefined;
  /** Taken over from the file before this one: older than all that was appended here, wherever it stands. */
  readonly copied: boolean;
}

/** The record that says a change. */
export function encodeChange({ id, row, copied }: Change): string {
  const origin = copied ? { copied } : {};
  return JSON.stringify(
    row === undefined ? { type: 'removed', ...origin, id } : { type: 'row', ...origin, row },
  );
}

/** What some bytes of the file say, from a line's start on. */
export interface Part {
  readonly changes: readonly Change[];
  readonly hasHeader: boolean;
  /** Lines that are not what anybody of us wrote. */
  readonly badLines: number;
  /** How many of the bytes are whole lines: behind them somebody may still be writing. */
  readonly length: number;
}

/** Reads whole lines; refuses those of a newer version. */
export function readPart(bytes: Uint8Array): Part {
  const changes: Change[] = [];
  let [hasHeader, badLines, start] = [false, 0, 0];
  for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
    const line = bytes.subarray(start, end);
    start = end + 1;
    // Every write begins with a newline, so that it stands apart from what another process left unfinished.
    if (line.length === 0) continue;
    const record = recordIn(line);
    const change = record && changeIn(record);
    if (change !== undefined) changes.push(change);
    else if (record?.type === 'catalogue') hasHeader = isReadable(record);
    else badLines += 1;
  }
  return { changes, hasHeader, badLines, length: start };
}

const NEWLINE = 10;

function recordIn(line: Uint8Array): JsonObject | undefined {
  if (verifyLine(line) !== 'ok') return undefined;
  const value = tryParse(Buffer.from(line.buffer, line.byteOffset, line.length).toString());
  return isObject(value) ? value : undefined;
}

function changeIn({ type, id, row, copied }: JsonObject): Change | undefined {
  const origin = { copied: copied === true };
  if (type === 'removed' && typeof id === 'string') return { id, row: undefined, ...origin };
  return type === 'row' && isRow(row) ? { id: row.id, row, ...origin } : undefined;
}

function isReadable({ version }: JsonObject): boolean {
  const found = numberOf(version) ?? 0;
  if (found <= VERSION) return true;
  throw new PolypodError(
    'conflict',
    `the catalogue has format ${found}, newer than this program reads: update polypod, or use another data directory. The file is left as it is.`,
  );
}
