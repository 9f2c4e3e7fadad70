import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { roundFor } from './plan.ts';
import { countsTable, tables, withPart } from './report.ts';
import { type Counts, NO_COUNTS, runRound, sumOf } from './run-round.ts';

/** `npm run proof:doors` asks for more; CI runs the same few every time. */
const SCHEDULES = Number(process.env.POLYPOD_DOORS ?? 20);
const SEED = Number(process.env.POLYPOD_DOORS_SEED ?? 13);
/** A round, or a schedule of it: `12` or `12:3`. */
const [ROUND, SCHEDULE] = (process.env.POLYPOD_DOORS_ONLY ?? '')
  .split(':')
  .map((text) => (text === '' ? undefined : Number(text)));
/** Sessions that share a daemon. */
const SIZE = Math.min(SCHEDULES, 24);
/** A full run is one that the page may show. */
const IS_FULL = SCHEDULES >= 2_000 && ROUND === undefined;
const PAGE = 'docs/doors.md';

describe('random schedules over all doors, with kills', () => {
  it('leave every door with what the log has', { timeout: 14_400_000 }, async () => {
    const all = Array.from({ length: Math.ceil(SCHEDULES / SIZE) }, (_, at) => at);
    let counts: Counts = NO_COUNTS;
    for (const number of ROUND === undefined ? all : [ROUND]) {
      const result = await runRound(roundFor(SEED, number, SIZE), SCHEDULE);
      counts = sumOf(counts, result.counts);
      const shown = result.problems
        .slice(0, 10)
        .map(
          ({ schedule, problem, trace }) =>
            `schedule ${number}:${schedule}: ${problem}\n  ${trace.join('\n  ')}\n` +
            `Again: POLYPOD_DOORS_SEED=${SEED} POLYPOD_DOORS_ONLY=${number}:${schedule} npm run proof:doors`,
        );
      expect(shown.join('\n\n')).toBe('');
      if (number % 10 === 9) console.log(`${counts.schedules} schedules, ${counts.kills} kills`);
    }
    const table = countsTable(counts, SEED);
    console.log(`${tables()}\n\n${table}`);
    if (IS_FULL) {
      const page = withPart(readFileSync(PAGE, 'utf8'), 'tables', tables());
      writeFileSync(PAGE, withPart(page, 'counts', table));
    }
  });

  it.skipIf(IS_FULL)('are described on the page with the tables', () => {
    const page = readFileSync(PAGE, 'utf8');
    expect(withPart(page, 'tables', tables()), 'npm run proof:doors writes the page').toBe(page);
  });
});
