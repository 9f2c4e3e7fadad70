import { PolypodError } from '../base/index.ts';
import type { Overrides } from '../pod/index.ts';
import type { Role } from './roles.ts';

/** The number of delegations with the same instructions and role. */
const MAX_SAME = 2;

/** Counts what one run of a coordinator delegates and spends, and rejects what exceeds the limits. */
export class Ledger {
  readonly runId: string;
  /** The settings of the coordinator's run, which its colleagues inherit. */
  readonly overrides: Overrides;
  /** The developer's latest work, which is sent to the reviewer. */
  latestWork = '';
  readonly #limit: number;
  readonly #requests = new Map<string, number>();
  #count = 0;
  /** In USD. */
  #spent = 0;

  /** `limit`: how often the run may delegate. */
  constructor(runId: string, overrides: Overrides, limit: number) {
    this.runId = runId;
    this.overrides = overrides;
    this.#limit = limit;
  }

  /** The remaining budget of the colleagues in USD; undefined without a budget. */
  get remainingBudget(): number | undefined {
    const { budget } = this.overrides;
    return budget === undefined ? undefined : Math.max(0, budget - this.#spent);
  }

  /** Records a delegation and returns its number. Rejects repeated delegations, so that a coordinator does not loop. */
  record(role: Role, instructions: string): number {
    this.#count += 1;
    if (this.#count > this.#limit)
      throw new PolypodError(
        'overloaded',
        `you have delegated ${this.#limit} times: finish with what you have`,
      );
    const request = `${role} ${instructions}`;
    const same = (this.#requests.get(request) ?? 0) + 1;
    this.#requests.set(request, same);
    if (same > MAX_SAME)
      throw new PolypodError(
        'conflict',
        `you have asked the ${role} the same ${MAX_SAME} times: ask for something else, or finish`,
      );
    if (this.remainingBudget === 0)
      throw new PolypodError('overloaded', 'the budget is used up: finish with what you have');
    return this.#count;
  }

  spend(cost: number): void {
    this.#spent += cost;
  }
}
