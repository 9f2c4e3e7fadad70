import { isPartOfId } from '../base/index.ts';
import type { AuditEntry } from './entry.ts';

/** Selects entries. */
export interface AuditFilter {
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  readonly door?: string | undefined;
  readonly by?: string | undefined;
  /** An event name, or its prefix before a dot: `key` selects all key events. */
  readonly event?: string | undefined;
  readonly key?: string | undefined;
  /** A pod's id, or the beginning or end of it. */
  readonly session?: string | undefined;
}

export function matchesFilter(entry: AuditEntry, filter: AuditFilter): boolean {
  const { since, until, door, by, event, key, session } = filter;
  const time = Date.parse(entry.time);
  return (
    (since === undefined || time >= since.getTime()) &&
    (until === undefined || time <= until.getTime()) &&
    (door === undefined || entry.door === door) &&
    (by === undefined || entry.by === by) &&
    (event === undefined || entry.event === event || entry.event.startsWith(`${event}.`)) &&
    (key === undefined || entry.keyId === key || entry.target === key) &&
    (session === undefined || (entry.session !== undefined && isPartOfId(entry.session, session)))
  );
}
