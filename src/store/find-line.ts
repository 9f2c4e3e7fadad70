import type { Files } from './files.ts';
import { LineIndex } from './line-index.ts';
import { type LogLine, type Range, readLines, readLinesNear } from './read-lines.ts';

/** The number by which a log is ordered, in one of its records; undefined if it has none. It grows from line to line. */
export type KeyOf = (text: string) => number | undefined;

/** Below this a scan costs no more than one more step of the search. */
const SCAN = 64 * 1024;

/**
 * The offset of the first line whose key is this one or greater; the end of the range if there is none. Halves the range
 * on the disk, so a long log is not read to find a place in it, and remembers in the index what it came across.
 */
export async function findLine(
  files: Files,
  path: string,
  search: { readonly key: number; readonly keyOf: KeyOf; readonly range: Range; readonly index?: LineIndex },
): Promise<number> {
  const { key, keyOf, range, index = new LineIndex() } = search;
  const end = Math.min(range.to, files.stat(path)?.size ?? 0);
  let [low, high] = index.narrow(key, range.from, end);
  while (high - low > SCAN) {
    const middle = low + Math.floor((high - low) / 2);
    const found = firstKey(await readLinesNear(files, path, { from: middle, to: high }), keyOf);
    if (found !== undefined) index.note(found.key, found.offset);
    // Lines without a key, or none at all: what is sought may be before, and the half after is scanned at most once.
    if (found === undefined || found.key >= key) high = middle;
    else low = found.offset;
  }
  return scan(files, path, { key, keyOf, range: { from: low, to: end } });
}

async function scan(
  files: Files,
  path: string,
  { key, keyOf, range }: { readonly key: number; readonly keyOf: KeyOf; readonly range: Range },
): Promise<number> {
  for await (const lines of readLines(files, path, range)) {
    const found = lines.find((line) => (keyIn(line, keyOf) ?? Number.NEGATIVE_INFINITY) >= key);
    if (found !== undefined) return found.offset;
  }
  return range.to;
}

function firstKey(lines: readonly LogLine[], keyOf: KeyOf) {
  for (const line of lines) {
    const key = keyIn(line, keyOf);
    if (key !== undefined) return { key, offset: line.offset };
  }
  return undefined;
}

function keyIn(line: LogLine, keyOf: KeyOf): number | undefined {
  return line.status === 'ok' || line.status === 'unverified' ? keyOf(line.text) : undefined;
}
