/** The index of all sessions of a data directory. It can be rebuilt from the session files. */
export { Catalogue, type CatalogueOptions } from './catalogue.ts';
export type { Filter, ListOptions } from './list.ts';
export type { ApprovalRow, Row, SettledApprovalRow, TaskRow } from './row.ts';
