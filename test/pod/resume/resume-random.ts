/** Returns a number below the bound. */
export type Random = (bound: number) => number;

/** A seeded generator (mulberry32). */
export function randomFrom(seed: number): Random {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % Math.max(bound, 1);
  };
}

/** Waits for a number of event loop turns. */
export async function turns(count: number): Promise<void> {
  for (let at = 0; at < count; at += 1) await new Promise((resolve) => setImmediate(resolve));
}
