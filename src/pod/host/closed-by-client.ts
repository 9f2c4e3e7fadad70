import { join } from 'node:path';
import { parseObject } from '../../base/index.ts';
import type { Files } from '../../store/index.ts';

/** Whether the last event of a session is that a client closed it. Reads the feed, if that event still exists. */
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
    .map((line) => parseObject(line)?.type)
    .filter((type) => type !== undefined && type !== 'rest');
  return records.at(-1) === 'closed';
}
