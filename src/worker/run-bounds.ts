import type { RunOutcome, Totals } from './event.ts';

/** The limits of a run. */
export interface RunBounds {
  readonly maxTurns: number;
  /** In USD. */
  readonly budget: number;
}

/** The outcome of a run that has reached a limit; undefined otherwise. */
export function boundReached({ maxTurns, budget }: Partial<RunBounds>, used: Totals): RunOutcome | undefined {
  if (maxTurns !== undefined && used.turns >= maxTurns) {
    const message = `the run has reached its limit of ${maxTurns} ${maxTurns === 1 ? 'turn' : 'turns'}`;
    return { status: 'limited', limit: 'max-turns', message };
  }
  if (budget === undefined || (used.cost ?? 0) < budget) return undefined;
  return { status: 'limited', limit: 'budget', message: `the run has reached its budget of $${budget}` };
}
