import { type PolypodError, WrongState } from '../base/index.ts';

class PodBusy extends WrongState {
  constructor() {
    super('a run is under way: steer it, queue a follow-up, or cancel it first');
  }
}

/** For a command that has to wait until the run under way is over. */
export function podBusy(): PolypodError {
  return new PodBusy();
}

/** Whether a command was refused only because a run is under way. Other conflicts do not pass by waiting. */
export function isPodBusy(thrown: unknown): boolean {
  return thrown instanceof PodBusy;
}
