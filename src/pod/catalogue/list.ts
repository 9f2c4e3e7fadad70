import type { Row, RowState } from './row.ts';

/** Which rows; what is not said does not matter. */
export interface Filter {
  readonly cwd?: string;
  readonly state?: RowState;
  readonly archived?: boolean;
  readonly parentId?: string;
  readonly limit?: number;
}

/** The place of a row in the order: the last row of a page is where the next page goes on. */
export type Cursor = Pick<Row, 'updatedAt' | 'id'>;

export interface ListOptions extends Filter {
  /** Only rows that come behind this place. */
  readonly before?: Cursor;
}

/** The order of lists: what changed last comes first; of two of one moment the one that was made later. */
export function newestFirst(one: Cursor, other: Cursor): number {
  return descending(one.updatedAt, other.updatedAt) || descending(one.id, other.id);
}

/** A page of the rows, which are in order. */
export function listed(rows: readonly Row[], { before, limit, ...filter }: ListOptions): readonly Row[] {
  const found = rows.filter(
    (row) => isWanted(row, filter) && (before === undefined || newestFirst(before, row) < 0),
  );
  return found.slice(0, limit);
}

export function isWanted(row: Row, { cwd, state, archived, parentId }: Filter): boolean {
  return (
    (cwd === undefined || row.cwd === cwd) &&
    (state === undefined || row.state === state) &&
    (archived === undefined || row.archived === archived) &&
    (parentId === undefined || row.parentId === parentId)
  );
}

function descending(one: string, other: string): number {
  return one === other ? 0 : one < other ? 1 : -1;
}
