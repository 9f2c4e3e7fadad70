import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sim, startSim } from '../../src/sim/index.ts';
import { spoiled } from '../store/faulty-files.ts';
import { arrive, listen } from './crash/life.ts';
import { lossySweep } from './crash/lossy-sweep.ts';
import { withoutReceipts } from './crash/without-receipts.ts';
import { script } from './crash/world.ts';

/** How many lives are cut off at every boundary; without it one life at some of them. */
const LIVES = Number(process.env.POLYPOD_POD_SWEEP ?? 0);
const SHARE = LIVES === 0 ? 0.05 : 1;

/** Much longer than it takes, also where others work on the same machine. */
const PATIENCE_MS = 120_000 + LIVES * 900_000;

/** Nothing is lost, as when only the process dies; and what was not synced is. */
const ALL = { torn: 1, zeros: false, names: true };
const SYNCED = { torn: 0, zeros: false, names: true };

let sim: Sim;
beforeAll(async () => {
  sim = await startSim({ script });
});
afterAll(() => sim.close());

describe('a pod whose power is cut', () => {
  it('keeps what it accepted, tells nothing wrong and does nothing twice', {
    timeout: PATIENCE_MS,
  }, async () => {
    let points = 0;
    for (let seed = 0; seed < Math.max(1, LIVES); seed += 1) {
      const swept = await lossySweep({ url: sim.url, seed, share: SHARE });
      points += swept.points;
      expect(swept.problems).toEqual([]);
    }
    expect(points).toBeGreaterThan(20);
    console.log(
      `pod crash sweep: the power was cut at ${points} points; nothing accepted was lost, nothing done twice`,
    );
  });
});

describe('a pod whose power is cut while it is being made', () => {
  it('is given again to whoever asks for it under the same key, and works', {
    timeout: PATIENCE_MS,
  }, async () => {
    let points = 0;
    for (const [seed, survival] of [undefined, ALL, SYNCED].entries()) {
      const share = LIVES === 0 ? 0.15 : 1;
      const swept = await lossySweep({
        url: sim.url,
        life: arrive,
        seed,
        share,
        ...(survival && { survival }),
      });
      points += swept.points;
      expect(swept.problems).toEqual([]);
    }
    console.log(
      `pod crash sweep: the power was cut at ${points} points of a beginning; each pod was there or not`,
    );
  });
});

describe('a pod whose power is cut in the middle of a very long answer', () => {
  it('never gives a number to another event', { timeout: PATIENCE_MS }, async () => {
    const share = LIVES === 0 ? 0.04 : 1;
    const { points, problems } = await lossySweep({ url: sim.url, life: listen, seed: 7, share });
    expect(problems).toEqual([]);
    expect(points).toBeGreaterThan(2);
    console.log(
      `pod crash sweep: the power was cut at ${points} points of a long answer; no number was given twice`,
    );
  });
});

describe('the sweep finds', () => {
  const nothing = () => Promise.resolve();
  const some = { seed: 1, share: 0.05, untilProblem: true };

  it('a pod that does not wait for the disk', { timeout: PATIENCE_MS }, async () => {
    const options = { durability: 'none' } as const;
    const { problems } = await lossySweep({ ...some, url: sim.url, survival: SYNCED, options });
    expect(problems.join('\n')).toMatch(/said 0 times|is gone|fails with|no longer open|instead of/);
  });

  it('a disk that says it has what it has not', { timeout: PATIENCE_MS }, async () => {
    const plant = (files: Parameters<typeof spoiled>[0]) => spoiled(files, { sync: nothing });
    const { problems } = await lossySweep({ ...some, url: sim.url, survival: SYNCED, plant });
    expect(problems.join('\n')).toMatch(/said 0 times|is gone|fails with|no longer open|instead of/);
  });

  it('a receipt that is not kept, although nothing else is lost', { timeout: PATIENCE_MS }, async () => {
    const { problems } = await lossySweep({ ...some, url: sim.url, survival: ALL, plant: withoutReceipts });
    expect(problems.join('\n')).toMatch(/took effect again|is now|said 2 times/);
  });
});
