import { type AppendLog, type Files, openLog } from '../../src/store/index.ts';
import { FaultyFiles, type Survival } from './faulty-files.ts';
import { textsOf } from './fixture.ts';

export const PATH = '/logs/one.jsonl';
export const KIND = {
  header: '{"type":"test","version":1}',
  isHeader: (text: string) => text === '{"type":"test","version":1}',
};

/** One append, and the caller's action before the next one. */
export interface Step {
  readonly sizes: readonly number[];
  readonly durable: boolean;
  readonly next: 'go on' | 'next turn' | 'wait';
}

/** The caller's knowledge at the time of the power cut. */
export interface Ledger {
  /** All appended records, in order. */
  readonly appended: string[];
  /** The number of leading records that were acknowledged as durable and must exist. */
  promised: number;
}

/** Opens the log, appends step by step and closes it; returns early at a power cut. */
export async function runSteps(files: Files, steps: readonly Step[], ledger: Ledger): Promise<void> {
  try {
    const log = await openLog(PATH, { ...KIND, files });
    for (const step of steps) await take(log, step, ledger);
    await log.close();
  } catch {
    // `problemsAfter` checks the result.
  }
}

async function take(log: AppendLog, { sizes, durable, next }: Step, ledger: Ledger): Promise<void> {
  const records = sizes.map((size, index) =>
    JSON.stringify({ n: ledger.appended.length + index, text: 'ä'.repeat(size) }),
  );
  ledger.appended.push(...records);
  const count = ledger.appended.length;
  const acknowledged = log.append(records, durable).then(() => {
    if (durable) ledger.promised = Math.max(ledger.promised, count);
  });
  acknowledged.catch(() => {});
  if (next === 'wait') await acknowledged;
  if (next === 'next turn') await new Promise((resolve) => void setImmediate(resolve));
}

/** The problems of the log after the restart; updates the ledger to the actual content. */
export async function problemsAfter(files: Files, ledger: Ledger): Promise<readonly string[]> {
  try {
    const log = await openLog(PATH, { ...KIND, files });
    const found = await textsOf(files, PATH, { from: log.start, to: log.end });
    await log.close();
    const problems: string[] = [];
    if (found.length < ledger.promised)
      problems.push(`${ledger.promised} records were promised, ${found.length} are there`);
    if (found.some((text, index) => text !== ledger.appended[index]))
      problems.push('what is there is not the beginning of what was appended');
    ledger.appended.length = found.length;
    ledger.promised = Math.min(ledger.promised, found.length);
    return problems;
  } catch (error) {
    return [`the log does not open: ${String(error)}`];
  }
}

export interface Scenario {
  readonly steps: readonly Step[];
  readonly survival: Survival;
}

/**
 * Runs a log twice: the power is cut at every operation of the first run, and at a derived operation of the second run,
 * which continues with the result. `plant` can inject a defect between the log and the disk.
 */
export async function sweep(
  { steps, survival }: Scenario,
  plant: (files: Files) => Files = (files) => files,
): Promise<{ readonly points: number; readonly problems: readonly string[] }> {
  const uninterrupted = new FaultyFiles();
  await runSteps(plant(uninterrupted), steps, { appended: [], promised: 0 });
  const points = uninterrupted.operations.length + 1;
  const problems: string[] = [];
  for (let cut = 0; cut < points; cut += 1) {
    const ledger: Ledger = { appended: [], promised: 0 };
    const first = new FaultyFiles();
    first.cutAt = cut;
    await runSteps(plant(first), steps, ledger);
    const second = first.afterPowerCut(survival);
    const report = (problem: string) => problems.push(`cut at ${cut}: ${problem}`);
    (await problemsAfter(plant(second), ledger)).forEach(report);
    second.cutAt = second.operations.length + ((cut * 7) % points);
    await runSteps(plant(second), steps, ledger);
    (await problemsAfter(plant(second.afterPowerCut(survival)), ledger)).forEach(report);
  }
  return { points, problems };
}
