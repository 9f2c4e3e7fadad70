/** The index of all sessions of a data directory; all of it can be made again from the session files. */
export { Catalogue, type CatalogueOptions } from './catalogue.ts';
export type { Cursor, Filter, ListOptions } from './list.ts';
export type { LastRun, PendingApproval, Row, RowState, TaskRow } from './row.ts';
