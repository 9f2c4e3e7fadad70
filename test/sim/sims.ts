import { afterEach } from 'vitest';
import { type Sim, type SimOptions, startSim } from '../../src/sim/index.ts';

/** Returns a function that starts simulators; they are closed after each test. */
export function simStarter(): (options?: SimOptions) => Promise<Sim> {
  const open: Sim[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((sim) => sim.close()));
  });
  return async (options) => {
    const sim = await startSim(options);
    open.push(sim);
    return sim;
  };
}

/** Returns what a promise rejects with. */
export async function thrownBy(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (thrown) {
    return thrown;
  }
  throw new Error('nothing was thrown');
}
