/** Below this a measurement says more about the clock and the garbage collector than about the code. */
const MIN_CPU_US = 200_000;
/** Enough for the compiler to have settled on the hot functions of the slowest candidate. */
const WARM_UP_US = 600_000;
const WARM_UP_RUNS = 3;
const REPETITIONS = 4;
/** A candidate this slow is well above the noise; repeating it would only make everybody wait. */
const LONG_US = 1_500_000;

/**
 * CPU microseconds (user and system, all threads: collector and compiler count) of one run. Every repetition runs as
 * often as it takes to fill MIN_CPU_US; the smallest counts, since noise only ever adds.
 */
export async function cpuPerRun(warmUp, run) {
  await settle(warmUp);
  let best = Infinity;
  for (let repetition = 0; repetition < REPETITIONS; repetition++) {
    globalThis.gc?.();
    const { used, runs } = await repeat(run, MIN_CPU_US, 1);
    best = Math.min(best, used / runs);
    if (used > LONG_US) break;
  }
  return best;
}

function settle(warmUp) {
  return repeat(warmUp, WARM_UP_US, WARM_UP_RUNS);
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
