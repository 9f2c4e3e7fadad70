import type { Row } from '../../../pod/index.ts';
import { wholeSeconds } from './session.ts';
import type { RecentPath } from '../wire.ts';

/** The working directories of sessions, most recently used first. */
export function recentPaths(rows: readonly Row[], limit = 20): { readonly paths: readonly RecentPath[] } {
  const uses = new Map<string, { readonly last: string; readonly count: number }>();
  for (const { cwd, updatedAt } of rows) {
    const known = uses.get(cwd);
    uses.set(cwd, { last: known?.last ?? updatedAt, count: (known?.count ?? 0) + 1 });
  }
  const paths = [...uses].map(([path, { last, count }]) => ({
    path,
    last_used: wholeSeconds(last),
    usage_count: count,
  }));
  return { paths: paths.slice(0, limit) };
}
