import { join } from 'node:path';
import { objectIn } from '../../base/index.ts';
import type { Files } from '../../store/index.ts';

/** Whether the last that happened in a session is that a client closed it: its feed tells, as long as that is kept. */
export function wasClosed(files: Files, feed: string): boolean {
  if (files.stat(feed) === undefined) return false;
  const last = files
    .list(feed)
    .filter((name) => name.endsWith('.jsonl'))
    .toSorted()
    .at(-1);
  if (last === undefined) return false;
  const records = files
    .readText(join(feed, last))
    .split('\n')
    .map((line) => objectIn(line)?.type)
    .filter((type) => type !== undefined && type !== 'rest');
  return records.at(-1) === 'closed';
}
