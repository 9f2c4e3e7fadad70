import type { Row, RowState } from './row.ts';

/** Filters rows; an absent field matches everything. */
export interface Filter {
  readonly cwd?: string;
  readonly state?: RowState;
  readonly archived?: boolean;
  readonly parentId?: string;
  /** Whether the session works for its parent. */
  readonly spawned?: boolean;
  readonly limit?: number;
}

/** The position of a row in the list order. The last row of a page is the cursor of the next page. */
export type ListCursor = Pick<Row, 'updatedAt' | 'id'>;

export interface ListOptions extends Filter {
  /** Only rows after this position. */
  readonly before?: ListCursor;
}

/** The list order: most recently changed first; for equal times, the later created first. */
export function newestFirst(one: ListCursor, other: ListCursor): number {
  return descending(one.updatedAt, other.updatedAt) || descending(one.id, other.id);
}

/** Returns a page of rows, which must be in list order. */
export function pageOfRows(rows: readonly Row[], { before, limit, ...filter }: ListOptions): readonly Row[] {
  const found = rows.filter(
    (row) => isWanted(row, filter) && (before === undefined || newestFirst(before, row) < 0),
  );
  return found.slice(0, limit);
}

export function isWanted(row: Row, { cwd, state, archived, parentId, spawned }: Filter): boolean {
  return (
    (cwd === undefined || row.cwd === cwd) &&
    (state === undefined || row.state === state) &&
    (archived === undefined || row.archived === archived) &&
    (parentId === undefined || row.parentId === parentId) &&
    (spawned === undefined || (row.spawned ?? false) === spawned)
  );
}

function descending(one: string, other: string): number {
  return one === other ? 0 : one < other ? 1 : -1;
}
