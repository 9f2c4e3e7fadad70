import { readFileSync } from 'node:fs';
import { isObject, messageOf, PolypodError, systemCodeOf, tryParse } from '../../base/index.ts';
import { changeIn, isHeader } from './change.ts';
import type { Row } from './row.ts';
import { Table } from './table.ts';

/**
 * Returns the current rows of a catalogue, most recently changed first; none if the file does not exist. For one-off lists: the
 * file is not kept open, and checksums, which would take most of the time, are not verified.
 */
export function readRows(path: string): readonly Row[] {
  const table = new Table();
  for (const line of textOf(path).split('\n')) {
    const record = line === '' ? undefined : tryParse(line);
    if (!isObject(record)) continue;
    const change = changeIn(record);
    if (change !== undefined) table.apply(change);
    else isHeader(record);
  }
  return table.rows;
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    if (systemCodeOf(thrown) === 'ENOENT') return '';
    throw new PolypodError('denied', `cannot read ${path}: ${messageOf(thrown)}`, { cause: thrown });
  }
}
