import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Sim, startSim } from '../../../src/sim/index.ts';
import { withChanges } from '../../store/faulty-files.ts';
import { createScenario, longAnswerScenario } from './scenarios.ts';
import { lossySweep } from './lossy-sweep.ts';
import { withoutReceipts } from './without-receipts.ts';
import { script } from './test-agents.ts';

/** How many lives are cut at every boundary; by default one life at some of them. */
const LIVES = Number(process.env.POLYPOD_POD_SWEEP ?? 0);
const SHARE = LIVES === 0 ? 0.05 : 1;

/** Much longer than needed, also on a busy machine. */
const PATIENCE_MS = 120_000 + LIVES * 900_000;

/** Either nothing is lost, as when only the process dies, or everything that was not synced. */
const ALL = { torn: 1, zeros: false, names: true };
const SYNCED = { torn: 0, zeros: false, names: true };

let sim: Sim;
beforeAll(async () => {
  sim = await startSim({ script });
});
afterAll(() => sim.close());

describe('a pod after a power cut', () => {
  it('keeps what it accepted, publishes no wrong event and repeats no effect', {
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

describe('a pod whose power is cut while it is being created', () => {
  it('is returned again under the same key, and works', {
    timeout: PATIENCE_MS,
  }, async () => {
    let points = 0;
    for (const [seed, survival] of [undefined, ALL, SYNCED].entries()) {
      const share = LIVES === 0 ? 0.15 : 1;
      const swept = await lossySweep({
        url: sim.url,
        scenario: createScenario,
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

describe('a pod whose power is cut during a very long answer', () => {
  it('never reuses the number of an event', { timeout: PATIENCE_MS }, async () => {
    const share = LIVES === 0 ? 0.04 : 1;
    const { points, problems } = await lossySweep({
      url: sim.url,
      scenario: longAnswerScenario,
      seed: 7,
      share,
    });
    expect(problems).toEqual([]);
    expect(points).toBeGreaterThan(2);
    console.log(
      `pod crash sweep: the power was cut at ${points} points of a long answer; no number was given twice`,
    );
  });
});

describe('the sweep detects', () => {
  const nothing = () => Promise.resolve();
  const some = { seed: 1, share: 0.05, untilProblem: true };

  it('a pod that does not wait for the disk', { timeout: PATIENCE_MS }, async () => {
    const options = { durability: 'none' } as const;
    const { problems } = await lossySweep({ ...some, url: sim.url, survival: SYNCED, options });
    expect(problems.join('\n')).toMatch(/recorded 0 times|is gone|fails with|no longer open|instead of/);
  });

  it('a disk that acknowledges writes that it has not made', { timeout: PATIENCE_MS }, async () => {
    const plant = (files: Parameters<typeof withChanges>[0]) => withChanges(files, { sync: nothing });
    const { problems } = await lossySweep({ ...some, url: sim.url, survival: SYNCED, plant });
    expect(problems.join('\n')).toMatch(/recorded 0 times|is gone|fails with|no longer open|instead of/);
  });

  it('a receipt that is not recorded, although nothing else is lost', { timeout: PATIENCE_MS }, async () => {
    const { problems } = await lossySweep({ ...some, url: sim.url, survival: ALL, plant: withoutReceipts });
    expect(problems.join('\n')).toMatch(/took effect again|is now|recorded 2 times/);
  });
});
