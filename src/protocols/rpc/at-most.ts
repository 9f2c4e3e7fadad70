import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for something, but not longer than that. Whether it has come. */
export async function atMost(awaited: Promise<unknown>, ms: number): Promise<boolean> {
  const enough = new AbortController();
  const late = sleep(ms, false, { signal: enough.signal }).catch(() => false);
  const isDone = await Promise.race([awaited.then(() => true), late]);
  enough.abort();
  return isDone;
}
