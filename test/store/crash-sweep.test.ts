import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { withChanges } from './faulty-files.ts';
import { type Scenario, sweep } from './sweep.ts';

/** The number of random scenarios: thousands by hand, a few on every change. */
const SCENARIOS = Number(process.env.POLYPOD_SWEEP ?? 40);

const step = fc.record({
  sizes: fc.array(fc.nat({ max: 60 }), { minLength: 1, maxLength: 4 }),
  durable: fc.boolean(),
  next: fc.constantFrom('go on' as const, 'next turn' as const, 'wait' as const),
});

const scenario: fc.Arbitrary<Scenario> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 8 }),
  survival: fc.record({
    torn: fc.double({ min: 0, max: 1, noNaN: true }),
    zeros: fc.boolean(),
    names: fc.boolean(),
  }),
});

describe('a log after a power cut', () => {
  it('holds, at every operation, a prefix of the appended records with all acknowledged ones', {
    timeout: 120_000 + SCENARIOS * 500,
  }, async () => {
    let points = 0;
    await fc.assert(
      fc.asyncProperty(scenario, async (one) => {
        const result = await sweep(one);
        points += result.points;
        expect(result.problems).toEqual([]);
      }),
      { numRuns: SCENARIOS },
    );
    console.log(
      `crash sweep: ${SCENARIOS} scenes, power cut at ${points} operations, nothing promised was lost`,
    );
  });
});

describe('the sweep finds', () => {
  const nothing = () => Promise.resolve();
  const steps = [
    { sizes: [10, 20], durable: true, next: 'wait' as const },
    { sizes: [30], durable: true, next: 'wait' as const },
  ];
  const survival = { torn: 0, zeros: false, names: false };

  it('no loss in a correct log', async () => {
    expect((await sweep({ steps, survival })).problems).toEqual([]);
  });

  it('a missing sync of the file', async () => {
    const { problems } = await sweep({ steps, survival: { ...survival, names: true } }, (files) =>
      withChanges(files, { sync: nothing }),
    );
    expect(problems.join()).toContain('were promised');
  });

  it('a missing sync of the directory', async () => {
    const { problems } = await sweep({ steps, survival }, (files) =>
      withChanges(files, { syncDirectory: nothing }),
    );
    expect(problems.join()).toContain('were promised');
  });
});
