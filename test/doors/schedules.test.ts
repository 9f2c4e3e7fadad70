import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { roundFor } from './plan.ts';
import { countsTable, tables, withPart } from './report.ts';
import { type Counts, NO_COUNTS, type RoundResult, runRound, sumOf } from './run-round.ts';

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

/** Rounds that run at the same time, each with a daemon of its own. */
const PARALLEL = IS_FULL ? Number(process.env.POLYPOD_DOORS_PARALLEL ?? 2) : 1;

describe('random schedules over all doors, with kills', () => {
  it('leave every door with what the log has', { timeout: 14_400_000 }, async () => {
    const all = Array.from({ length: Math.ceil(SCHEDULES / SIZE) }, (_, at) => at);
    const rounds = (ROUND === undefined ? all : [ROUND]).values();
    let counts: Counts = NO_COUNTS;
    const failures: string[] = [];
    const work = async (): Promise<void> => {
      for (const number of rounds) {
        const result = await runRound(roundFor(SEED, number, SIZE), SCHEDULE);
        counts = sumOf(counts, result.counts);
        failures.push(...failuresOf(number, result));
        if (failures.length > 0) return;
        if (IS_FULL && number % 10 === 9)
          console.log(`round ${number}: ${counts.schedules} schedules, ${counts.kills} kills`);
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, work));
    expect(failures.slice(0, 10).join('\n\n')).toBe('');
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

function failuresOf(round: number, { problems }: RoundResult): readonly string[] {
  return problems.map(
    ({ schedule, problem, trace }) =>
      `schedule ${round}:${schedule}: ${problem}\n  ${trace.join('\n  ')}\n` +
      `Again: POLYPOD_DOORS_SEED=${SEED} POLYPOD_DOORS_ONLY=${round}:${schedule} npm run proof:doors`,
  );
}
