import { setTimeout as sleep } from 'node:timers/promises';

/** Long enough for a machine on which everything else runs too. */
export const PATIENCE_MS = 60_000;

/** Looks again and again until there is something to see. Throws with what was awaited when that takes too long. */
export async function withinTime<T>(
  awaited: string,
  look: () => T | undefined | Promise<T | undefined>,
  ms = PATIENCE_MS,
): Promise<T> {
  const deadline = Date.now() + ms;
  // Rarely what is looked for is there at once; to look costs as much as to work.
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 1.5, 200)) {
    const seen = await look();
    if (seen !== undefined) return seen;
    if (Date.now() > deadline) throw new Error(`not within ${ms} ms: ${awaited}`);
    await sleep(pauseMs);
  }
}
