/** Below this a measurement says more about the clock and the collector than about the code. */
const MIN_CPU_US = 200_000;
/** A host runs for days: the compiler has long settled on its hot functions, which takes it about so long. */
const WARM_UP_US = 2_000_000;
const REPETITIONS = 4;

/**
 * CPU microseconds of one run in another process. A run answers with what it took there, without what it prepared. Every
 * repetition runs as often as it takes to fill MIN_CPU_US; the smallest counts, since noise only ever adds.
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
