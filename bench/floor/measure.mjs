/** Shorter measurements are dominated by the clock and the garbage collector. */
const MIN_CPU_US = 200_000;
/** A host runs for days, so its hot functions are already compiled. The compiler needs about this long. */
const WARM_UP_US = 2_000_000;
const REPETITIONS = 4;

/**
 * CPU microseconds of one run in another process. A run resolves with the CPU time it used there, without its preparation. Every
 * repetition runs until MIN_CPU_US is reached; the smallest value counts, because noise only adds.
 */
export async function cpuPerRun(warmUp, run) {
  await repeat(warmUp, WARM_UP_US);
  const repetitions = [];
  while (repetitions.length < REPETITIONS) repetitions.push(await repeat(run, MIN_CPU_US));
  return Math.min(...repetitions);
}

async function repeat(run, cpuUs) {
  let used = 0;
  let runs = 0;
  while (used < cpuUs) {
    used += await run();
    runs += 1;
  }
  return used / runs;
}
