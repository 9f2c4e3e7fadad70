import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { roundFor } from './plan.ts';
import { countsTable, tables, withPart } from './report.ts';
import { type Counts, NO_COUNTS, type RoundResult, runRound, sumOf } from './run-round.ts';

/** `npm run proof:doors` runs more; CI runs the same few every time. */
const SCHEDULES = Number(process.env.POLYPOD_DOORS ?? 20);
const SEED = Number(process.env.POLYPOD_DOORS_SEED ?? 13);
/** A round, a schedule of it, or several rounds: `12`, `12:3` or `0-20`. */
const [, FIRST, LAST, SCHEDULE] =
  /^(\d+)(?:-(\d+))?(?::(\d+))?$/.exec(process.env.POLYPOD_DOORS_ONLY ?? '') ?? [];
/** Sessions per daemon. */
const SIZE = Math.min(SCHEDULES, 24);
/** Whether the result may be written to the page. */
const IS_FULL = SCHEDULES >= 2_000 && FIRST === undefined;
const PAGE = 'docs/doors.md';

/** Concurrent rounds, each with its own daemon. */
const PARALLEL = SCHEDULES >= 2_000 ? Number(process.env.POLYPOD_DOORS_PARALLEL ?? 2) : 1;

describe('random schedules over all doors, with kills', () => {
  it('leave every door consistent with the log', { timeout: 14_400_000 }, async () => {
    const first = Number(FIRST ?? 0);
    const last = FIRST === undefined ? Math.ceil(SCHEDULES / SIZE) - 1 : Number(LAST ?? FIRST);
    const rounds = Array.from({ length: last - first + 1 }, (_, at) => first + at).values();
    const only = SCHEDULE === undefined ? undefined : Number(SCHEDULE);
    let counts: Counts = NO_COUNTS;
    const failures: string[] = [];
    const work = async (): Promise<void> => {
      for (const number of rounds) {
        const result = await runRound(roundFor(SEED, number, SIZE), only);
        counts = sumOf(counts, result.counts);
        failures.push(...failuresOf(number, result));
        if (failures.length > 0) return;
        if (SCHEDULES >= 2_000 && number % 10 === 9)
          console.log(`round ${number}: ${counts.schedules} schedules, ${counts.kills} kills`);
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
    expect(failures.slice(0, 10).join('\n\n')).toBe('');
    const table = countsTable(counts, SEED);
    console.log(`${tables()}\n\n${table}`);
    if (IS_FULL) {
      const page = withPart(readFileSync(PAGE, 'utf8'), 'tables', tables());
      writeFileSync(PAGE, withPart(page, 'counts', `The last full run:\n\n${table}`));
    }
  });

  it.skipIf(IS_FULL)('are described on the page with the tables and the result of a full run', () => {
    const page = readFileSync(PAGE, 'utf8');
    expect(withPart(page, 'tables', tables()), 'npm run proof:doors writes the page').toBe(page);
    // A page without figures does not describe a run; figures must be those of a full run.
    const [, schedules] = /^\| schedules \(sessions\) +\| ([\d,]+) +\|$/m.exec(page) ?? [];
    if (schedules !== undefined) expect(Number(schedules.replaceAll(',', ''))).toBeGreaterThanOrEqual(2_000);
  });
});

function failuresOf(round: number, { problems }: RoundResult): readonly string[] {
  return problems.map(
    ({ schedule, problem, trace }) =>
      `schedule ${round}:${schedule}: ${problem}\n  ${trace.join('\n  ')}\n` +
      `Again: POLYPOD_DOORS_SEED=${SEED} POLYPOD_DOORS_ONLY=${round}:${schedule} npm run proof:doors`,
  );
}
