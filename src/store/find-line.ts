import type { Files } from './files.ts';
import { LineIndex } from './line-index.ts';
import { type LogLine, type Range, readLines, readLinesAfter } from './read-lines.ts';

/** Reads the key of a record, by which the log is ordered; undefined if the record has none. Keys increase from line to line. */
export type LineKey = (text: string) => number | undefined;

/** Ranges up to this size are scanned: a scan costs no more than another step of the binary search. */
const SCAN = 64 * 1024;

/**
 * The offset of the first line whose key is at least `key`, or the end of the range. Uses a binary search on the disk, so
 * that a long log is not read completely, and adds the lines that it reads to the index.
 */
export async function findLine(
  files: Files,
  path: string,
  search: {
    readonly key: number;
    readonly keyOf: LineKey;
    readonly range: Range;
    readonly index?: LineIndex;
  },
): Promise<number> {
  const { key, keyOf, range, index = new LineIndex() } = search;
  const end = Math.min(range.to, files.stat(path)?.size ?? 0);
  let [low, high] = index.narrow(key, range.from, end);
  while (high - low > SCAN) {
    const middle = low + Math.floor((high - low) / 2);
    const found = firstKey(await readLinesAfter(files, path, { from: middle, to: high }), keyOf);
    if (found !== undefined) index.add(found.key, found.offset);
    // Without a key, the line may be in the lower half; the upper half is scanned at most once.
    if (found === undefined || found.key >= key) high = middle;
    else low = found.offset;
  }
  return scan(files, path, { key, keyOf, range: { from: low, to: end } });
}

async function scan(
  files: Files,
  path: string,
  { key, keyOf, range }: { readonly key: number; readonly keyOf: LineKey; readonly range: Range },
): Promise<number> {
  for await (const lines of readLines(files, path, range)) {
    const found = lines.find((line) => (keyIn(line, keyOf) ?? Number.NEGATIVE_INFINITY) >= key);
    if (found !== undefined) return found.offset;
  }
  return range.to;
}

function firstKey(lines: readonly LogLine[], keyOf: LineKey) {
  for (const line of lines) {
    const key = keyIn(line, keyOf);
    if (key !== undefined) return { key, offset: line.offset };
  }
  return undefined;
}

function keyIn(line: LogLine, keyOf: LineKey): number | undefined {
  return line.status === 'ok' || line.status === 'unverified' ? keyOf(line.text) : undefined;
}
