import { setTimeout as sleep } from 'node:timers/promises';

/** Long enough for a busy machine. */
export const PATIENCE_MS = 60_000;

/** Polls until there is a result. Throws with a description of what was awaited after the timeout. */
export async function withinTime<T>(
  awaited: string,
  check: () => T | undefined | Promise<T | undefined>,
  ms = PATIENCE_MS,
): Promise<T> {
  const deadline = Date.now() + ms;
  // The result is rarely available at once, and each check costs as much as the work itself.
  for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 1.5, 200)) {
    const seen = await check();
    if (seen !== undefined) return seen;
    if (Date.now() > deadline) throw new Error(`not within ${ms} ms: ${awaited}`);
    await sleep(pauseMs);
  }
}
