import { openFileLimit } from '../../wire/index.ts';

/** Named pods that have a socket while they are not in memory. */
const MOST_NAMED = 1_000;

/** How many named pods may have a socket at the same time: never more than a quarter of the files that may be open. */
export function namedSocketLimit(openFiles = openFileLimit()): number {
  return Math.min(MOST_NAMED, Math.floor((openFiles ?? Number.POSITIVE_INFINITY) / 4));
}
