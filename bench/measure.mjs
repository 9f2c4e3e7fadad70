/** Below this a measurement says more about the clock and the collector than about the code. */
const MIN_CPU_US = 200_000;
/** Enough for the compiler to have settled on the hot functions of the slowest candidate. */
const WARM_UP_US = 400_000;
const WARM_UP_RUNS = 3;
/** Repetitions end here. A slow candidate has had one long one by then, which is well above the noise. */
const ENOUGH_US = 800_000;

/**
 * CPU microseconds (user and system, all threads: collector and compiler count) of one run. Every repetition runs as
 * often as it takes to fill MIN_CPU_US; the smallest counts, since noise only ever adds.
 *
 * Nothing forces a collection in between. No program does, and the compiled code goes with it: the shapes of parsed
 * frames die, the functions that rely on them are compiled again, and that would be what is measured.
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
