import { type PolypodError, WrongStateError } from '../base/index.ts';

class PodBusy extends WrongStateError {
  constructor() {
    super('a run is under way: steer it, queue a follow-up, or cancel it first');
  }
}

/** The error for a command that must wait until the current run ends. */
export function podBusy(): PolypodError {
  return new PodBusy();
}

/** Whether a command was rejected only because a run is active. Waiting does not resolve other conflicts. */
export function isPodBusy(thrown: unknown): boolean {
  return thrown instanceof PodBusy;
}
