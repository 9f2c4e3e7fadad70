import { isObject, type JsonObject, tryParse } from '../../base/index.ts';
import { verifyLine } from '../../store/index.ts';
import { type RowChange, changeIn, isHeader } from './change.ts';

/** The decoded content of a part of the file that starts at a line start. */
export interface Part {
  readonly changes: readonly RowChange[];
  readonly hasHeader: boolean;
  /** The number of invalid lines. */
  readonly badLines: number;
  /** The length of all complete lines in bytes. Another process may still be writing what follows. */
  readonly length: number;
}

/** Decodes complete lines. Rejects lines of a newer version. */
export function readPart(bytes: Uint8Array): Part {
  const changes: RowChange[] = [];
  let [hasHeader, badLines, start] = [false, 0, 0];
  for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
    const line = bytes.subarray(start, end);
    start = end + 1;
    // Every write starts with a newline, to separate it from a line that another process left unfinished.
    if (line.length === 0) continue;
    const record = recordIn(line);
    const change = record && changeIn(record);
    if (change !== undefined) changes.push(change);
    else if (record !== undefined && isHeader(record)) hasHeader = true;
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
