import type { RunOutcome, Totals } from './event.ts';

/** Where a run ends although the model would go on. */
export interface RunBounds {
  readonly maxTurns: number;
  /** In USD. */
  readonly budget: number;
}

/** The outcome of a run that has used what it may use; undefined while there is something left. */
export function boundReached({ maxTurns, budget }: Partial<RunBounds>, used: Totals): RunOutcome | undefined {
  if (maxTurns !== undefined && used.turns >= maxTurns) {
    const message = `the run has taken ${maxTurns === 1 ? 'the one turn' : `the ${maxTurns} turns`} it may take`;
    return { status: 'limited', limit: 'max-turns', message };
  }
  if (budget === undefined || (used.cost ?? 0) < budget) return undefined;
  return { status: 'limited', limit: 'budget', message: `the run has cost the $${budget} it may cost` };
}
