import type { JsonObject } from '../../base/index.ts';
import type { Diff } from './diff.ts';

/** What a user interface gets of a diff; a very long one is cut at a line, and `diffCut` says so. */
export function diffDetails({ text, added, removed }: Diff): JsonObject {
  if (text.length <= MOST_LENGTH) return { diff: text, added, removed };
  const end = text.lastIndexOf('\n', MOST_LENGTH - 1) + 1;
  return { diff: text.slice(0, end), diffCut: true, added, removed };
}

const MOST_LENGTH = 100_000;
