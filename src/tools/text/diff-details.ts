import type { JsonObject } from '../../base/index.ts';
import type { Diff } from './diff.ts';

/** Returns a diff for user interfaces; a very long one is cut at a line, and `diffCut` is set. */
export function diffDetails({ text, added, removed }: Diff): JsonObject {
  if (text.length <= MAX_LENGTH) return { diff: text, added, removed };
  const end = text.lastIndexOf('\n', MAX_LENGTH - 1) + 1;
  return { diff: text.slice(0, end), diffCut: true, added, removed };
}

const MAX_LENGTH = 100_000;
