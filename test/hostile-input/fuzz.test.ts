import { expect, test } from 'vitest';
import { fuzz } from './fuzz.ts';

const { POLYPOD_HOSTILE, POLYPOD_HOSTILE_SEED, POLYPOD_HOSTILE_ONLY } = process.env;
const messages = Number(POLYPOD_HOSTILE ?? 20_000);
/** The sample of the tests is fixed; the proof uses a new seed each time. */
const anySeed = POLYPOD_HOSTILE === undefined ? 1 : Math.floor(Math.random() * 2 ** 31);
const seed = Number(POLYPOD_HOSTILE_SEED ?? anySeed);
const [door, batch] = POLYPOD_HOSTILE_ONLY?.split(':') ?? [];

/** What may remain after all sessions are removed. */
const MOST_GROWTH = 24 * 1024 * 1024;

test(`${messages} hostile messages over all doors: no crash, no hang, flat memory, every answer inside the schema (seed ${seed})`, {
  // Far above the usual time, also on a busy machine: each exchange has its own deadline.
  timeout: 600_000 + messages * 10,
}, async () => {
  const result = await fuzz({
    messages,
    seed,
    unlimited: true,
    ...(door !== undefined && { only: { door, ...(batch !== undefined && { batch: Number(batch) }) } }),
    onProgress: (line) => console.log(line),
  });
  const { log, ...figures } = result;
  console.log(`seed ${seed}`, figures);
  expect(log.split('\n').filter((line) => /request failed|message failed|bug in Polypod/.test(line))).toEqual(
    [],
  );
  expect(figures.unexpected).toBe(0);
  expect(figures.heapAfter - figures.heapBefore).toBeLessThan(MOST_GROWTH);
});
