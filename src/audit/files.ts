import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, PolypodError, systemCodeOf } from '../base/index.ts';

/** The paths of the audit log of a data directory. */
export interface AuditFiles {
  readonly directory: string;
  /** The file to which entries are appended. */
  readonly current: string;
  /** Holds the last entry's number and hash, so that removed last lines are detected. */
  readonly head: string;
}

export function auditFiles(dataDirectory: string): AuditFiles {
  const directory = join(dataDirectory, 'logs');
  return { directory, current: join(directory, CURRENT), head: join(directory, 'audit.head') };
}

/** The name of a full file whose last entry has this number. */
export function rotatedName(lastSeq: number): string {
  return `audit-${String(lastSeq).padStart(12, '0')}.jsonl`;
}

/** The existing files of the chain, the oldest first. */
export function listAuditFiles({ directory, current }: AuditFiles): readonly string[] {
  const names = listNames(directory);
  const rotated = names.filter((name) => /^audit-\d{12,}\.jsonl$/.test(name)).toSorted(byNumber);
  return [...rotated.map((name) => join(directory, name)), ...(names.includes(CURRENT) ? [current] : [])];
}

const CURRENT = 'audit.jsonl';
/** The file for lines of older versions, which are not chained. */
export const UNCHAINED_FILE = 'audit-unchained.jsonl';

function listNames(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (thrown) {
    // Nothing has been recorded yet.
    if (systemCodeOf(thrown) === 'ENOENT') return [];
    throw new PolypodError('denied', `cannot read the audit log in ${directory}: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  }
}

function byNumber(one: string, other: string): number {
  return one.length - other.length || (one < other ? -1 : 1);
}
