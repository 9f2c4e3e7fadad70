import { readFileSync } from 'node:fs';
import { tryOrUndefined } from '../../base/index.ts';

/**
 * Returns how many files and sockets this process may open; undefined if the system does not report it or has
 * no limit.
 */
export function openFileLimit(): number | undefined {
  const limits = tryOrUndefined(() => readFileSync('/proc/self/limits', 'latin1')) ?? '';
  const limit = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1]);
  return Number.isNaN(limit) ? undefined : limit;
}
