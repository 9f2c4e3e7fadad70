/** Shorter measurements are dominated by the clock and the garbage collector. */
const MIN_CPU_US = 200_000;
/** Long enough for the compiler to optimise the hot functions of the slowest candidate. */
const WARM_UP_US = 400_000;
const WARM_UP_RUNS = 3;
/** The limit for all repetitions. A slow candidate has had one long repetition by then, well above the noise. */
const ENOUGH_US = 800_000;

/**
 * CPU microseconds (user and system, all threads, including garbage collector and compiler) of one run. Every repetition runs
 * until MIN_CPU_US is reached; the smallest value counts, because noise only adds. No garbage collection is forced in between:
 * programs do not do that, and it would discard compiled code, so that recompilation would be measured.
 */
export async function cpuPerRun(warmUp, run) {
  await repeat(warmUp, WARM_UP_US, WARM_UP_RUNS);
  let best = Infinity;
  for (let total = 0; total < ENOUGH_US; ) {
    const { used, runs } = await repeat(run, MIN_CPU_US, 1);
    best = Math.min(best, used / runs);
    total += used;
  }
  return best;
}

async function repeat(run, cpuUs, minRuns) {
  const before = process.cpuUsage();
  let used = 0;
  let runs = 0;
  while (used < cpuUs || runs < minRuns) {
    await run();
    runs += 1;
    const { user, system } = process.cpuUsage(before);
    used = user + system;
  }
  return { used, runs };
}
