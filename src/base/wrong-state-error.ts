import { PolypodError } from './errors.ts';

/** The command is not valid in the pod's current state, for example because a run is active. A subset of `conflict`. */
export class WrongStateError extends PolypodError {
  constructor(message: string) {
    super('conflict', message);
  }
}
