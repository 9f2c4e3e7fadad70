import { type JsonObject, numberOf, PolypodError } from '../../base/index.ts';
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

/** The change that a record says; undefined if it says none. */
export function changeIn({ type, id, row, copied }: JsonObject): Change | undefined {
  const origin = { copied: copied === true };
  if (type === 'removed' && typeof id === 'string') return { id, row: undefined, ...origin };
  return type === 'row' && isRow(row) ? { id: row.id, row, ...origin } : undefined;
}

/** Whether a record is the header of a catalogue; one of a newer version is refused. */
export function isHeader({ type, version }: JsonObject): boolean {
  if (type !== 'catalogue') return false;
  const found = numberOf(version) ?? 0;
  if (found <= VERSION) return true;
  throw new PolypodError(
    'conflict',
    `the catalogue has format ${found}, newer than this program reads: update polypod, or use another data directory. The file is left as it is.`,
  );
}
