import { type JsonObject, numberOf, PolypodError } from '../../base/index.ts';
import { isRow, type Row, type TaskRow } from './row.ts';

const VERSION = 1;

/** The first record of the file. */
export const HEADER = JSON.stringify({ type: 'catalogue', version: VERSION });

/** A row was put, or removed. */
export interface RowChange {
  readonly id: string;
  /** Undefined if the row was removed. */
  readonly row: Row | undefined;
  /** Copied from the previous file. It is older than everything that was appended to this one, regardless of its position. */
  readonly copied: boolean;
}

/** Encodes a change as a record. */
export function encodeChange({ id, row, copied }: RowChange): string {
  const origin = copied ? { copied } : {};
  if (row === undefined) return JSON.stringify({ type: 'removed', ...origin, id });
  const { tasks, ...rest } = row;
  const head = JSON.stringify({ type: 'row', ...origin, row: rest });
  return `${head.slice(0, -'}}'.length)},"tasks":[${tasks.map(taskText).join(',')}]}}`;
}

/** A row may have a hundred tasks, of which one changes at a time: only that one is serialized again. */
function taskText(task: TaskRow): string {
  const known = TASK_TEXTS.get(task);
  if (known !== undefined) return known;
  const text = JSON.stringify(task);
  TASK_TEXTS.set(task, text);
  return text;
}

const TASK_TEXTS = new WeakMap<TaskRow, string>();

/** Decodes a record; undefined if it is no change. */
export function changeIn({ type, id, row, copied }: JsonObject): RowChange | undefined {
  const origin = { copied: copied === true };
  if (type === 'removed' && typeof id === 'string') return { id, row: undefined, ...origin };
  return type === 'row' && isRow(row) ? { id: row.id, row, ...origin } : undefined;
}

/** Whether a record is the header of a catalogue. Rejects a newer version. */
export function isHeader({ type, version }: JsonObject): boolean {
  if (type !== 'catalogue') return false;
  const found = numberOf(version) ?? 0;
  if (found <= VERSION) return true;
  throw new PolypodError(
    'conflict',
    `the catalogue has format ${found}, newer than this program reads: update polypod, or use another data directory. The file was not changed.`,
  );
}
