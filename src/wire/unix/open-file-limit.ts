import { readFileSync } from 'node:fs';

/** How many files and sockets this process may have open; undefined where the system does not tell, or has no limit. */
export function openFileLimit(): number | undefined {
  try {
    const limits = readFileSync('/proc/self/limits', 'latin1');
    const limit = Number(/^Max open files\s+(\d+)/m.exec(limits)?.[1]);
    return Number.isNaN(limit) ? undefined : limit;
  } catch {
    return undefined;
  }
}
