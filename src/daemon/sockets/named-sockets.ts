import { openFileLimit } from '../../wire/index.ts';

/** The maximum number of sockets for named pods that are not loaded. */
const MOST_NAMED = 1_000;

/** How many named pods can have a socket at the same time: at most a quarter of the open file limit. */
export function namedSocketLimit(openFiles = openFileLimit()): number {
  return Math.min(MOST_NAMED, Math.floor((openFiles ?? Number.POSITIVE_INFINITY) / 4));
}
