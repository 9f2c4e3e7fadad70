import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, PolypodError, systemCodeOf } from '../base/index.ts';

/** Where the audit log of a data directory is. */
export interface AuditFiles {
  readonly directory: string;
  /** The file that is appended to. */
  readonly current: string;
  /** The last entry's number and hash, kept apart so that removed last lines are noticed. */
  readonly head: string;
}

export function auditFiles(dataDirectory: string): AuditFiles {
  const directory = join(dataDirectory, 'logs');
  return { directory, current: join(directory, CURRENT), head: join(directory, 'audit.head') };
}

/** The name of a full file; it ends with the entry of this number. */
export function rotatedName(lastSeq: number): string {
  return `audit-${String(lastSeq).padStart(12, '0')}.jsonl`;
}

/** Every file of the chain that is there, the oldest first. */
export function listAuditFiles({ directory, current }: AuditFiles): readonly string[] {
  const names = namesIn(directory);
  const rotated = names.filter((name) => /^audit-\d{12,}\.jsonl$/.test(name)).toSorted(byNumber);
  return [...rotated.map((name) => join(directory, name)), ...(names.includes(CURRENT) ? [current] : [])];
}

const CURRENT = 'audit.jsonl';
/** Lines that older versions wrote; they are not chained. */
export const UNCHAINED = 'audit-unchained.jsonl';

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch (thrown) {
    // Nothing was recorded so far.
    if (systemCodeOf(thrown) === 'ENOENT') return [];
    throw new PolypodError('denied', `cannot read the audit log in ${directory}: ${messageOf(thrown)}`, {
      cause: thrown,
    });
  }
}

function byNumber(one: string, other: string): number {
  return one.length - other.length || (one < other ? -1 : 1);
}
